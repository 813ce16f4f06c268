package ledger

import (
	"context"
	"errors"
	"fmt"
	"net/url"

	"github.com/jackc/pgx/v5"
)

// CloneDatabase makes a database as a copy of another one of the same server, to which nobody may be connected, and gives its
// URL. The URL must be one with a scheme; name and template must be plain identifiers.
func CloneDatabase(ctx context.Context, server, template, name string) (string, error) {
	clone, err := onServer(server, name)
	if err != nil {
		return "", err
	}
	if err := execOnce(ctx, server, "CREATE DATABASE "+pgx.Identifier{name}.Sanitize()+" TEMPLATE "+pgx.Identifier{template}.Sanitize()); err != nil {
		return "", fmt.Errorf("clone database %q: %w", template, err)
	}
	return clone, nil
}

// DropDatabase removes a database, whoever is connected to it.
func DropDatabase(ctx context.Context, server, name string) error {
	if err := execOnce(ctx, server, "DROP DATABASE IF EXISTS "+pgx.Identifier{name}.Sanitize()+" WITH (FORCE)"); err != nil {
		return fmt.Errorf("drop database %q: %w", name, err)
	}
	return nil
}

func execOnce(ctx context.Context, server, sql string) error {
	conn, err := pgx.Connect(ctx, server)
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, sql)
	return errors.Join(err, conn.Close(ctx))
}

func onServer(server, database string) (string, error) {
	u, err := url.Parse(server)
	if err != nil || u.Scheme == "" {
		return "", fmt.Errorf("database URL has no scheme")
	}
	u.Path = "/" + database
	return u.String(), nil
}
