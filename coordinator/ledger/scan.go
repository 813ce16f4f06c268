package ledger

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
)

// one reads the single row of a query; no row is a NotFoundError that names what and key.
func one[T any](ctx context.Context, q querier, what, key string, scan func(pgx.Row) (T, error), sql string, args ...any) (T, error) {
	v, err := scan(q.QueryRow(ctx, sql, args...))
	if errors.Is(err, pgx.ErrNoRows) {
		return v, &NotFoundError{What: what, Key: key}
	}
	return v, wrap("read "+what, err)
}

// maybe reads the single row of a query, if there is one.
func maybe[T any](ctx context.Context, q querier, what string, scan func(pgx.Row) (T, error), sql string, args ...any) (T, bool, error) {
	v, err := scan(q.QueryRow(ctx, sql, args...))
	if errors.Is(err, pgx.ErrNoRows) {
		var none T
		return none, false, nil
	}
	return v, err == nil, wrap("read "+what, err)
}

// many reads all rows of a query, in its order.
func many[T any](ctx context.Context, q querier, what string, scan func(pgx.Row) (T, error), sql string, args ...any) ([]T, error) {
	rows, err := q.Query(ctx, sql, args...)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", what, err)
	}
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (T, error) { return scan(row) })
	return list, wrap("read "+what, err)
}

func scanInto[T any](row pgx.Row) (T, error) {
	var v T
	err := row.Scan(&v)
	return v, err
}

// texts turns a list of a string type into what the database driver takes, never nil.
func texts[T ~string](list []T) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = string(s)
	}
	return out
}

// storable is text as the database can hold it: valid UTF-8 without NUL.
func storable(text string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
}

func typed[T ~string](list []string) []T {
	if len(list) == 0 {
		return nil
	}
	out := make([]T, len(list))
	for i, s := range list {
		out[i] = T(s)
	}
	return out
}
