package ledger

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// canActAs reports whether the role exists and the role of dsn may take it.
func canActAs(ctx context.Context, dsn, role string) (bool, error) {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return false, fmt.Errorf("connect: %w", err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	return isMember(ctx, conn, role)
}

func isMember(ctx context.Context, conn *pgx.Conn, role string) (bool, error) {
	var member bool
	err := conn.QueryRow(ctx,
		`SELECT coalesce((SELECT pg_has_role(current_user, oid, 'MEMBER') FROM pg_roles WHERE rolname = $1), false)`, role).Scan(&member)
	if err != nil {
		return false, fmt.Errorf("look up role %q: %w", role, err)
	}
	return member, nil
}

// ensureRoles makes the two roles where it may, and reports whether the connection can act as both.
func ensureRoles(ctx context.Context, conn *pgx.Conn) (bool, error) {
	for _, role := range []string{OwnerRole, AppRole} {
		member, err := isMember(ctx, conn, role)
		if err != nil {
			return false, err
		}
		if member {
			continue
		}
		made, err := makeRole(ctx, conn, role)
		if err != nil || !made {
			return false, err
		}
	}
	return true, nil
}

func makeRole(ctx context.Context, conn *pgx.Conn, role string) (bool, error) {
	name := pgx.Identifier{role}.Sanitize()
	for _, sql := range []string{`CREATE ROLE ` + name + ` NOLOGIN`, `GRANT ` + name + ` TO CURRENT_USER`} {
		_, err := conn.Exec(ctx, sql)
		switch sqlState(err) {
		case stateInsufficientRights:
			return false, nil
		case stateDuplicateObject, stateUniqueViolation: // made by somebody else meanwhile, or for another database
			continue
		}
		if err != nil {
			return false, fmt.Errorf("make role %q: %w", role, err)
		}
	}
	return isMember(ctx, conn, role)
}

// grants says what the daemon's role may do with each table beyond SELECT and INSERT. Tables that are not named
// here are append-only to it.
func grants() map[string]string {
	return map[string]string{ //nolint:gosec // names of columns
		"repositories":  "UPDATE (git_dir)",
		"targets":       "UPDATE",
		"credentials":   "UPDATE (token_sha256, scopes, revoked_at)",
		"patches":       "UPDATE",
		"plans":         "DELETE",
		"rounds":        "UPDATE",
		"round_members": "UPDATE, DELETE",
		"landings":      "UPDATE (status, closed_seq, closed_at)",
		"webhooks":      "UPDATE (queued_seq)",
	}
}
