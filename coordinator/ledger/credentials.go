package ledger

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// Credential is somebody who may ask. The token itself is not stored, only its digest.
type Credential struct {
	ID        CredentialID
	Name      string
	Token     Digest
	Scopes    []string
	CreatedAt time.Time
	// Revoked is when it was revoked; the zero time while it is good.
	Revoked time.Time
}

//nolint:gosec // names of columns
const credentialColumns = `id::text, name, token_sha256, scopes, created_at, revoked_at`

func scanCredential(row pgx.Row) (Credential, error) {
	var c Credential
	var revoked *time.Time
	err := row.Scan(&c.ID, &c.Name, &c.Token, &c.Scopes, &c.CreatedAt, &revoked)
	if revoked != nil {
		c.Revoked = *revoked
	}
	return c, err
}

// PutCredential makes a credential, or gives the one of this name a new token and scopes (and life).
func (tx *Tx) PutCredential(ctx context.Context, c Credential) (Credential, error) {
	return one(ctx, tx.db, "credential", c.Name, scanCredential,
		`INSERT INTO credentials (id, name, token_sha256, scopes, created_at) VALUES ($1::text::uuid, $2, $3, $4, $5)
		 ON CONFLICT (name) DO UPDATE SET token_sha256 = excluded.token_sha256, scopes = excluded.scopes, revoked_at = NULL
		 RETURNING `+credentialColumns, c.ID, c.Name, c.Token, texts(c.Scopes), tx.now())
}

// RevokeCredential makes the credential of this name useless.
func (tx *Tx) RevokeCredential(ctx context.Context, name string) (Credential, error) {
	return one(ctx, tx.db, "credential", name, scanCredential,
		`UPDATE credentials SET revoked_at = coalesce(revoked_at, $2) WHERE name = $1 RETURNING `+credentialColumns, name, tx.now())
}

// CredentialByToken gives the credential whose token has this digest, unless it was revoked.
func (q Queries) CredentialByToken(ctx context.Context, token Digest) (Credential, bool, error) {
	return maybe(ctx, q.db, "credential", scanCredential,
		`SELECT `+credentialColumns+` FROM credentials WHERE token_sha256 = $1 AND revoked_at IS NULL`, token)
}

// Credentials lists all credentials by name.
func (q Queries) Credentials(ctx context.Context) ([]Credential, error) {
	return many(ctx, q.db, "credentials", scanCredential, `SELECT `+credentialColumns+` FROM credentials ORDER BY name`)
}
