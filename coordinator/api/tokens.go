package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"patchd/coordinator/service"
)

// TokenRequest asks for a credential.
type TokenRequest struct {
	Name   string          `json:"name" doc:"whom it is for" minLength:"1" maxLength:"100"`
	Scopes []service.Scope `json:"scopes" doc:"read, submit, resolve, land, admin" minItems:"1" maxItems:"5"`
}

// NewToken is a credential with its token, which is shown this once and kept as a digest only.
type NewToken struct {
	Credential service.Credential `json:"credential"`
	Token      string             `json:"token"`
}

// CredentialList is every credential that was not revoked.
type CredentialList struct {
	Credentials []service.Credential `json:"credentials"`
}

type tokenInput struct{ Body TokenRequest }

type tokenOutput struct{ Body NewToken }

type credentialsOutput struct{ Body CredentialList }

type credentialInput struct {
	Name string `path:"name" doc:"the credential's name" maxLength:"100"`
}

func (f *face) registerTokens(api huma.API) {
	create := operation("create-token", http.MethodPost, "/v1/tokens", "Make a credential", service.ScopeAdmin)
	create.DefaultStatus = http.StatusCreated
	huma.Register(api, create, f.createToken)
	huma.Register(api, operation("list-tokens", http.MethodGet, "/v1/tokens", "List credentials", service.ScopeAdmin), f.listTokens)
	huma.Register(api, operation("revoke-token", http.MethodDelete, "/v1/tokens/{name}", "Revoke a credential", service.ScopeAdmin), f.revokeToken)
}

func (f *face) createToken(ctx context.Context, in *tokenInput) (*tokenOutput, error) {
	c, token, err := f.service.CreateCredential(ctx, in.Body.Name, in.Body.Scopes)
	if err != nil {
		return nil, f.fail(ctx, err)
	}
	return &tokenOutput{NewToken{c, token}}, nil
}

func (f *face) listTokens(ctx context.Context, _ *struct{}) (*credentialsOutput, error) {
	list, err := f.service.Credentials(ctx)
	if err != nil {
		return nil, f.fail(ctx, err)
	}
	if list == nil {
		list = []service.Credential{}
	}
	return &credentialsOutput{CredentialList{list}}, nil
}

func (f *face) revokeToken(ctx context.Context, in *credentialInput) (*struct{}, error) {
	return nil, f.fail(ctx, f.service.RevokeCredential(ctx, in.Name))
}
