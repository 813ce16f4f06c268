package repro_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"patchd/checks/sandbox"
	"patchd/coordinator"
	"patchd/coordinator/ledger/pgtest"
	"patchd/coordinator/repro"
	"patchd/coordinator/service"
	"patchd/ownership/symbols"
	"patchd/worktree/diff"
	"patchd/worktree/git"
	"patchd/worktree/git/gittest"
)

const sandboxMode = "test-sandbox-exec"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == sandboxMode {
		os.Exit(sandbox.ServeExec(os.Args[2:])) //nolint:forbidigo // the process is the supervisor now
	}
	goleak.VerifyTestMain(withPostgres{m})
}

// withPostgres runs the tests and stops their database server before leaks are looked for.
type withPostgres struct{ m *testing.M }

func (w withPostgres) Run() (status int) {
	pgtest.Main(runner(func() int { status = w.m.Run(); return status }))
	return status
}

type runner func() int

func (r runner) Run() int { return r() }

// bench is a repository and a set of patches to be tried.
type bench struct {
	*gittest.Repo
	t      *testing.T
	base   string
	config repro.Config
}

func newBench(t *testing.T, files gittest.Tree) *bench {
	t.Helper()
	b := &bench{Repo: gittest.New(t), t: t}
	b.base = b.Commit("base", files)
	repo, err := git.Open(t.Context(), b.Dir(), git.Options{Scratch: t.TempDir()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, repo.Close()) })
	self, err := os.Executable()
	require.NoError(t, err)
	dsn := pgtest.New(t)
	u, err := url.Parse(dsn)
	require.NoError(t, err)
	template := strings.TrimPrefix(u.Path, "/")
	u.Path = "/postgres"
	b.config = repro.Config{
		Server: u.String(), Template: template, Objects: filepath.Join(repo.CommonDir(), "objects"), Repo: repo, Target: "refs/heads/main",
		Parallel: 3, Scratch: t.TempDir(), Seed: 1, Service: service.Config{
			Clock:    time.Now, //nolint:forbidigo // the daemons' queue compares with the database's
			Logger:   slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelError})),
			Outlines: symbols.NewInProcess(0), SandboxCommand: []string{self, sandboxMode}, AllowUnsandboxed: true,
		},
	}
	return b
}

// add adds a patch of the base to the set.
func (b *bench) add(name string, files gittest.Tree, more map[string]any) {
	b.t.Helper()
	patch := b.Change(b.base, files)
	parsed, err := diff.Parse(patch, diff.DefaultLimits())
	require.NoError(b.t, err)
	paths := []string{}
	for _, f := range parsed.Files {
		paths = append(paths, f.New)
	}
	fields := map[string]any{
		"patch_id": name, "base_commit": b.base, "paths": paths, "owned_hunks": []any{}, "required_checks": []any{}, "diff_sha256": coordinator.SHA256(patch),
	}
	maps.Copy(fields, more)
	raw, err := json.Marshal(fields)
	require.NoError(b.t, err)
	b.config.Patches = append(b.config.Patches, repro.Patch{Name: name, Manifest: raw, Diff: patch})
}

func (b *bench) run() *repro.Report {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), 20*time.Minute)
	defer cancel()
	r, err := repro.Run(ctx, b.config)
	require.NoError(b.t, err)
	return r
}

const tenLines = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\n"

func edited(from, to string) gittest.Tree {
	return gittest.Tree{"f": strings.Replace(tenLines, from+"\n", to+"\n", 1)}
}

// mixed is a set with two that meet, some that lie apart, one that depends on another and one that supersedes.
func mixed(t *testing.T) *bench {
	t.Helper()
	b := newBench(t, gittest.Tree{"f": tenLines, "g": tenLines})
	b.add("a", edited("two", "TWO"), nil)
	b.add("b", edited("two", "2"), nil)
	b.add("c", edited("nine", "NINE"), nil)
	b.add("d", gittest.Tree{"d": "d\n"}, map[string]any{"depends_on": []string{"c"}})
	b.add("e", gittest.Tree{"e": "e\n"}, nil)
	b.add("e2", gittest.Tree{"e": "e2\n"}, map[string]any{"supersedes": []string{"e"}})
	return b
}

func TestOrdersAgree(t *testing.T) {
	t.Parallel()
	b := mixed(t)
	b.config.Orders = 24
	var seen int
	b.config.Progress = func(done, total int) { seen = done }
	r := b.run()
	require.Empty(t, r.Difference)
	require.True(t, r.Agree)
	require.Equal(t, 24, r.Orders)
	require.Equal(t, 28, r.Runs)
	require.Equal(t, r.Runs, seen)
	require.Len(t, r.Landed, 1)
	require.NotEmpty(t, r.StateDigest)
}

func TestOrdersAgreeOnWhomARoundBlames(t *testing.T) {
	t.Parallel()
	b := newBench(t, gittest.Tree{
		".patchd.yml": "version: 1\nchecks:\n  allow: [\"sh **\"]\n  rules: [{paths: [\"**\"], run: [\"sh check.sh\"]}]\n",
		"check.sh":    "test ! -e bad && ! { test -e p0 && test -e p1; }\n",
	})
	for i := range 3 {
		b.add(fmt.Sprintf("p%d", i), gittest.Tree{fmt.Sprintf("p%d", i): "x\n"}, nil)
	}
	b.add("bad", gittest.Tree{"bad": "x\n"}, nil)
	b.config.Orders = 6
	r := b.run()
	require.Empty(t, r.Difference)
	require.NotEmpty(t, r.Landed)
}
