package service

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"patchd/coordinator/ledger"
)

// tokenBytes is the entropy of a token.
const tokenBytes = 32

// Scopes lists all scopes.
func Scopes() []Scope { return []Scope{ScopeRead, ScopeSubmit, ScopeResolve, ScopeLand, ScopeAdmin} }

// Has reports whether the credential may do what the scope allows. Everybody known may read; admin may do everything.
func (c Credential) Has(scope Scope) bool {
	return slices.Contains(c.Scopes, ScopeAdmin) || slices.Contains(c.Scopes, scope) || (scope == ScopeRead && len(c.Scopes) > 0)
}

// Authenticate finds the credential of a bearer token.
func (s *Service) Authenticate(ctx context.Context, token string) (c Credential, err error) {
	defer away(&err)
	row, found, err := s.store.CredentialByToken(ctx, ledger.SHA256([]byte(token)))
	if err != nil {
		return Credential{}, err
	}
	if !found {
		return Credential{}, errf(ErrUnauthorized, "", "the daemon's own token is in its data directory; PATCHD_TOKEN gives another", "the token is not known")
	}
	return credentialOf(row), nil
}

// CreateCredential makes a credential and its token, which is shown once: only its digest is kept. A name that exists gets
// the new token and scopes, and its old token ends.
func (s *Service) CreateCredential(ctx context.Context, name string, scopes []Scope) (Credential, string, error) {
	secret := make([]byte, tokenBytes)
	if _, err := rand.Read(secret); err != nil {
		return Credential{}, "", fmt.Errorf("make token: %w", err)
	}
	token := "patchd_" + base64.RawURLEncoding.EncodeToString(secret)
	c, err := s.PutCredential(ctx, name, scopes, token)
	return c, token, err
}

// PutCredential records a credential for a token that the caller keeps.
func (s *Service) PutCredential(ctx context.Context, name string, scopes []Scope, token string) (Credential, error) {
	if name == "" || len(name) > 100 {
		return Credential{}, errf(ErrInvalid, "name", "", "a credential needs a name of at most 100 bytes")
	}
	id, err := uuid.NewV7()
	if err != nil {
		return Credential{}, fmt.Errorf("make credential id: %w", err)
	}
	row := ledger.Credential{ID: ledger.CredentialID(id.String()), Name: name, Token: ledger.SHA256([]byte(token))}
	for _, scope := range scopes {
		if !slices.Contains(Scopes(), scope) {
			return Credential{}, errf(ErrInvalid, "scopes", fmt.Sprintf("use some of %v", Scopes()), "scope %q is unknown", scope)
		}
		row.Scopes = append(row.Scopes, string(scope))
	}
	if len(row.Scopes) == 0 {
		return Credential{}, errf(ErrInvalid, "scopes", fmt.Sprintf("use some of %v", Scopes()), "a credential needs a scope")
	}
	err = s.store.InTx(ctx, func(ctx context.Context, tx *ledger.Tx) error {
		row, err = tx.PutCredential(ctx, row)
		return err
	})
	return credentialOf(row), err
}

// Credentials lists those that are good, by name.
func (s *Service) Credentials(ctx context.Context) ([]Credential, error) {
	rows, err := s.store.Credentials(ctx)
	if err != nil {
		return nil, err
	}
	out := []Credential{}
	for _, row := range rows {
		if row.Revoked.IsZero() {
			out = append(out, credentialOf(row))
		}
	}
	return out, nil
}

// RevokeCredential ends a credential by its name.
func (s *Service) RevokeCredential(ctx context.Context, name string) error {
	return s.store.InTx(ctx, func(ctx context.Context, tx *ledger.Tx) error {
		_, err := tx.RevokeCredential(ctx, name)
		return notFound(err, "no credential %q", name)
	})
}

func credentialOf(row ledger.Credential) Credential {
	c := Credential{ID: string(row.ID), Name: row.Name, Scopes: []Scope{}}
	for _, scope := range row.Scopes {
		c.Scopes = append(c.Scopes, Scope(scope))
	}
	return c
}
