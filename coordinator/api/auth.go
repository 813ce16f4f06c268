package api

import (
	"context"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"patchd/coordinator/service"
)

// scopeKey is where an operation's metadata names the scope that it needs.
const scopeKey = "scope"

type credentialKey struct{}

// credentialOf is whom a request that passed authenticated comes from.
func credentialOf(ctx context.Context) service.Credential {
	c, _ := ctx.Value(credentialKey{}).(service.Credential)
	return c
}

// authenticated lets a request pass that carries a token with the operation's scope.
func (f *face) authenticated(api huma.API) func(huma.Context, func(huma.Context)) {
	return func(ctx huma.Context, next func(huma.Context)) {
		scope, _ := ctx.Operation().Metadata[scopeKey].(service.Scope)
		credential, err := f.authorize(ctx.Context(), ctx.Header("Authorization"), scope)
		if err != nil {
			f.deny(api, ctx, err)
			return
		}
		next(huma.WithValue(ctx, credentialKey{}, credential))
	}
}

// authorize checks a bearer token and its scope; the error is a *Problem.
func (f *face) authorize(ctx context.Context, header string, scope service.Scope) (service.Credential, error) {
	scheme, token, ok := strings.Cut(header, " ")
	if !ok || !strings.EqualFold(scheme, "bearer") || token == "" {
		return service.Credential{}, problem(http.StatusUnauthorized, string(service.ErrUnauthorized), "Authorization",
			"the request carries no bearer token", "the daemon's own is in the file token of its data directory")
	}
	credential, err := f.service.Authenticate(ctx, strings.TrimSpace(token))
	if err != nil {
		return service.Credential{}, f.fail(ctx, err)
	}
	if !credential.Has(scope) {
		return service.Credential{}, problem(http.StatusForbidden, string(service.ErrForbidden), "Authorization",
			"the credential "+quoted(credential.Name)+" has not the scope "+string(scope), "ask for a token with it: patchd token create")
	}
	return credential, nil
}

// deny writes a problem from within a middleware.
func (f *face) deny(api huma.API, ctx huma.Context, err error) {
	p, ok := err.(*Problem) //nolint:errorlint // authorize returns nothing else
	if !ok {
		p = problem(http.StatusInternalServerError, CodeInternal, "", "the daemon failed to answer", "see its log")
	}
	if p.Status == http.StatusUnauthorized {
		ctx.SetHeader("WWW-Authenticate", `Bearer realm="patchd"`)
	}
	ctx.SetHeader("Content-Type", p.ContentType(""))
	ctx.SetStatus(p.Status)
	if err := api.Marshal(ctx.BodyWriter(), "application/json", p); err != nil {
		f.logger.DebugContext(ctx.Context(), "answer not sent", "error", err)
	}
}
