package main

import (
	"context"
	"io"
	"strings"

	"patchd/coordinator/api"
	"patchd/coordinator/service"
)

type tokenCmd struct {
	Create tokenCreateCmd `cmd:"" help:"Make a credential and show its token, once."`
	List   tokenListCmd   `cmd:"" help:"List credentials."`
	Revoke tokenRevokeCmd `cmd:"" help:"Revoke a credential."`
}

type tokenCreateCmd struct {
	Name  string          `arg:"" help:"Whom it is for."`
	Scope []service.Scope `enum:"read,submit,resolve,land,admin" default:"read,submit" help:"What it may do: read, submit, resolve, land, admin; repeat, or separate by commas."`
}

// Help shows examples.
func (*tokenCreateCmd) Help() string {
	return "Examples:\n  patchd token create ci --scope read,submit\n  PATCHD_TOKEN=$(patchd token create agent-7)"
}

// Run makes a credential; stdout carries the token alone, so that a script can take it.
func (t *tokenCreateCmd) Run(ctx context.Context, a *app) error {
	c, err := a.connect(0)
	if err != nil {
		return err
	}
	defer c.Close()
	made, err := c.CreateToken(ctx, api.TokenRequest{Name: t.Name, Scopes: t.Scope})
	if err != nil {
		return err
	}
	a.say("credential %s; its token is shown this once", made.Credential.Name)
	return a.emit(made, func(w io.Writer) { line(w, "%s", made.Token) })
}

type tokenListCmd struct{}

// Run lists credentials; tokens are kept as digests and cannot be shown.
func (*tokenListCmd) Run(ctx context.Context, a *app) error {
	c, err := a.connect(0)
	if err != nil {
		return err
	}
	defer c.Close()
	list, err := c.Tokens(ctx)
	if err != nil {
		return err
	}
	return a.emit(api.CredentialList{Credentials: list}, func(w io.Writer) {
		rows := [][]string{{"NAME", "SCOPES", "ID"}}
		for _, credential := range list {
			rows = append(rows, []string{credential.Name, strings.ReplaceAll(joined(credential.Scopes), ",", " "), credential.ID})
		}
		table(w, rows)
	})
}

type tokenRevokeCmd struct {
	Name string `arg:"" help:"The credential's name, as token list shows it."`
}

// Run revokes a credential; its token is refused from then on.
func (t *tokenRevokeCmd) Run(ctx context.Context, a *app) error {
	c, err := a.connect(0)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.RevokeToken(ctx, t.Name); err != nil {
		return err
	}
	return a.emit(map[string]string{"revoked": t.Name}, func(w io.Writer) { line(w, "revoked %s", t.Name) })
}
