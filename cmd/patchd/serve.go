package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"

	"patchd/coordinator/api"
	"patchd/coordinator/service"
	"patchd/coordinator/service/webhook"
	"patchd/worktree/git"
)

type serveCmd struct {
	Repo        []string `required:"" sep:"none" placeholder:"DIR" help:"A repository to serve, as DIR or NAME=DIR; repeat for more."`
	Target      []string `placeholder:"BRANCH" help:"A branch to guard in each repository; repeat for more. Default: main, or the branch that HEAD names where there is no main."`
	DatabaseURL string   `placeholder:"URL" env:"PATCHD_DATABASE_URL" help:"PostgreSQL to use. Without it a private server is run in the data directory."`
	Listen      string   `placeholder:"ADDR" help:"Also listen on this TCP address, such as 127.0.0.1:7777; port 0 takes a free one."`
	AllowRemote bool     `help:"Allow --listen on an address that other machines reach. The connection is not encrypted: put TLS in front."`
	AllowHost   []string `placeholder:"NAME" help:"A host name by which clients may call the daemon, beside IP addresses and localhost."`

	Workers           int    `default:"2" help:"Patches planned at once."`
	CheckWorkers      int    `default:"1" help:"Checks run at once."`
	Webhook           string `placeholder:"URL" env:"PATCHD_WEBHOOK" help:"Tell this URL what was decided and landed, signed with the secret."`
	WebhookSecretFile string `type:"path" placeholder:"FILE" env:"PATCHD_WEBHOOK_SECRET_FILE" help:"The secret shared with the receiver, at least 16 bytes; a final newline is not part of it."`
	WebhookAllowHTTP  bool   `name:"webhook-allow-http" help:"Allow an unencrypted webhook to another machine."`

	AllowUnsandboxedChecks bool `help:"Run checks unconfined where this machine offers no way to confine them."`
}

// Help shows examples.
func (*serveCmd) Help() string {
	return `The daemon says that it is ready in one line on stderr (with --json, one document on stdout). SIGINT or SIGTERM stop it
in good order; after a crash the next start finishes what was under way.

Examples:
  patchd serve --repo .
  patchd serve --repo web=/srv/web --repo /srv/api --target main --target release
  patchd serve --repo . --listen 127.0.0.1:7777 --database-url postgres:///patchd
  patchd serve --repo . --webhook https://ci.example/patchd --webhook-secret-file secret`
}

// Run serves until the context ends.
func (s *serveCmd) Run(ctx context.Context, a *app) error {
	dir, err := a.needDataDir()
	if err != nil {
		return err
	}
	if err := s.checkListen(); err != nil {
		return err
	}
	repos, err := s.repositories(ctx, a)
	if err != nil {
		return err
	}
	hook, err := s.webhook(a)
	if err != nil {
		return err
	}
	d := daemon{
		app: a, webhook: hook, dir: dir, repos: repos, databaseURL: s.DatabaseURL, listen: s.Listen, hosts: lower(s.AllowHost),
		workers: s.Workers, checkWorkers: s.CheckWorkers, allowUnsandboxed: s.AllowUnsandboxedChecks,
	}
	return d.run(ctx, func(info daemonInfo) error {
		a.say("patchd %s is ready: %s%s", info.Version, "unix:"+info.Socket, inParentheses(info.URL))
		if !a.JSON {
			return nil
		}
		return a.emit(info, func(io.Writer) {})
	})
}

// checkListen refuses an address that other machines reach unless that is wanted.
func (s *serveCmd) checkListen() error {
	if s.Listen == "" {
		return nil
	}
	host, _, err := net.SplitHostPort(s.Listen)
	if err != nil {
		return usagef("write it as HOST:PORT, such as 127.0.0.1:7777", "--listen %q: %w", s.Listen, err)
	}
	if s.AllowRemote || host == "localhost" {
		return nil
	}
	if addr, err := netip.ParseAddr(host); err == nil && addr.IsLoopback() {
		return nil
	}
	return usagef("listen on 127.0.0.1, or add --allow-remote", "--listen %s can be reached from other machines", s.Listen)
}

// webhook reads whom to tell, and the secret.
func (s *serveCmd) webhook(a *app) (webhook.Config, error) {
	c := webhook.Config{URL: s.Webhook, AllowHTTP: s.WebhookAllowHTTP}
	switch {
	case s.Webhook == "" && s.WebhookSecretFile == "":
		return c, nil
	case s.Webhook == "" || s.WebhookSecretFile == "":
		return c, usagef("give both", "--webhook and --webhook-secret-file belong together")
	}
	secret, err := os.ReadFile(a.path(s.WebhookSecretFile))
	if err != nil {
		return c, usage(err, "give --webhook-secret-file FILE")
	}
	c.Secret = bytes.TrimRight(secret, "\r\n")
	sender, err := webhook.New(c, a.clock)
	if err != nil {
		return c, usage(err, "")
	}
	sender.Close()
	return c, nil
}

// repositories reads the --repo flags and finds each repository's targets.
func (s *serveCmd) repositories(ctx context.Context, a *app) ([]service.RepoConfig, error) {
	var out []service.RepoConfig
	named := map[string]string{}
	for _, flag := range s.Repo {
		name, dir, ok := strings.Cut(flag, "=")
		if !ok {
			name, dir = "", flag
		}
		repo, err := a.openRepository(ctx, dir)
		if err != nil {
			return nil, err
		}
		targets, err := s.targets(ctx, repo)
		top := repo.Dir()
		if cerr := repo.Close(); err == nil {
			err = cerr
		}
		if err != nil {
			return nil, err
		}
		if name == "" {
			name = strings.TrimSuffix(filepath.Base(top), ".git")
		}
		if other, taken := named[name]; taken {
			return nil, usagef("give one of them another: --repo NAME=DIR", "%s and %s are both called %q", other, top, name)
		}
		named[name] = top
		out = append(out, service.RepoConfig{Name: name, Dir: top, Targets: targets})
	}
	return out, nil
}

// targets are the branches named by flags, which must exist, or the default one.
func (s *serveCmd) targets(ctx context.Context, repo *git.Repo) ([]git.Ref, error) {
	var refs []git.Ref
	for _, name := range s.Target {
		ref := api.FullRef(name)
		_, found, err := repo.Resolve(ctx, ref)
		if err != nil {
			return nil, usage(err, "give the name of a branch")
		}
		if !found {
			return nil, usagef("create the branch, or guard another one", "%s has no branch %q", repo.Dir(), name)
		}
		refs = append(refs, ref)
	}
	if len(refs) > 0 {
		return refs, nil
	}
	ref, err := defaultTarget(ctx, repo)
	return []git.Ref{ref}, err
}

// defaultTarget is main, or the branch that HEAD names where there is no main.
func defaultTarget(ctx context.Context, repo *git.Repo) (git.Ref, error) {
	main := git.Ref("refs/heads/main")
	if _, found, err := repo.Resolve(ctx, main); err != nil || found {
		return main, err
	}
	head, err := repo.Head(ctx, repo.Dir())
	if err != nil {
		return "", fmt.Errorf("read HEAD of %s: %w", repo.Dir(), err)
	}
	if head.Commit == "" || head.Branch == "" {
		return "", usagef("name the branch to guard: --target BRANCH", "%s has no branch main, and HEAD is on none", repo.Dir())
	}
	return head.Branch, nil
}

func lower(names []string) []string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = strings.ToLower(n)
	}
	return out
}
