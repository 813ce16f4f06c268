package service_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"patchd/checks/sandbox"
	"patchd/coordinator"
	"patchd/coordinator/ledger/pgtest"
	"patchd/coordinator/service"
	"patchd/ownership/symbols"
	"patchd/worktree/diff"
	"patchd/worktree/git"
	"patchd/worktree/git/gittest"
)

// The modes in which this test binary stands for patchd's own processes.
const (
	sandboxMode = "test-sandbox-exec"
	daemonMode  = "test-daemon"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case sandboxMode:
			os.Exit(sandbox.ServeExec(os.Args[2:])) //nolint:forbidigo // the process is the supervisor now
		case daemonMode:
			panic(serveDaemon(os.Stdin, os.Stdout)) // the process is the daemon now, until it is killed
		}
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

// clock is the machine's, since daemons in several processes share a database here.
func clock() func() time.Time {
	return time.Now //nolint:forbidigo // see above
}

// world is a repository, a database, and a daemon on both that can be stopped and started.
type world struct {
	*gittest.Repo
	t       *testing.T
	config  service.Config
	svc     *service.Service
	stopped chan error
	cancel  context.CancelFunc
}

// newWorld makes a world whose daemon is not open yet. The branch main has one commit.
func newWorld(t *testing.T) *world {
	t.Helper()
	return worldOn(t, pgtest.New(t))
}

func worldOn(t *testing.T, dsn string) *world {
	t.Helper()
	r := gittest.New(t)
	r.Commit("start", gittest.Tree{"README": "start\n"})
	self, err := os.Executable()
	require.NoError(t, err)
	w := &world{Repo: r, t: t, config: service.Config{
		DatabaseURL: dsn, Repos: []service.RepoConfig{{Name: "r", Dir: r.Dir(), Targets: []git.Ref{"refs/heads/main"}}},
		DataDir: t.TempDir(), Host: "here", Clock: clock(), Logger: slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn})),
		Outlines: symbols.NewInProcess(0), SandboxCommand: []string{self, sandboxMode}, AllowUnsandboxed: true, PollInterval: 20 * time.Millisecond,
	}}
	t.Cleanup(w.close)
	return w
}

// serving is newWorld with its daemon at work.
func serving(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	w.open()
	w.run()
	return w
}

// open opens the daemon: it takes submissions and does nothing.
func (w *world) open() {
	w.t.Helper()
	svc, err := service.Open(context.WithoutCancel(w.t.Context()), w.config)
	require.NoError(w.t, err)
	w.svc = svc
}

// run has the daemon work.
func (w *world) run() {
	w.t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(w.t.Context()))
	w.cancel, w.stopped = cancel, make(chan error, 1)
	go func() { w.stopped <- w.svc.Run(ctx) }()
	require.Eventually(w.t, func() bool { return w.svc.Ready(ctx) == nil }, 30*time.Second, 5*time.Millisecond)
}

func (w *world) close() {
	if w.cancel != nil {
		w.cancel()
		require.NoError(w.t, <-w.stopped)
		w.cancel = nil
	}
	if w.svc != nil {
		require.NoError(w.t, w.svc.Close())
		w.svc = nil
	}
}

// restart stops the daemon and starts it on the same database and repository.
func (w *world) restart() {
	w.t.Helper()
	w.close()
	w.open()
	w.run()
}

// pathsOf is what a diff touches.
func pathsOf(t *testing.T, patch []byte) []string {
	t.Helper()
	p, err := diff.Parse(patch, diff.DefaultLimits())
	require.NoError(t, err)
	paths := []string{}
	for _, f := range p.Files {
		paths = append(paths, f.New)
	}
	return paths
}

// submission makes a submission of a diff; more overrides manifest fields.
func (w *world) submission(base string, patch []byte, more map[string]any) service.Submission {
	w.t.Helper()
	fields := map[string]any{
		"patch_id": "p", "base_commit": base, "paths": pathsOf(w.t, patch), "owned_hunks": []any{}, "required_checks": []any{}, "diff_sha256": coordinator.SHA256(patch),
	}
	maps.Copy(fields, more)
	raw, err := json.Marshal(fields)
	require.NoError(w.t, err)
	return service.Submission{Credential: service.Credential{Name: "tester", Scopes: service.Scopes()}, Manifest: raw, Diff: patch, Tool: "test"}
}

func (w *world) submit(in service.Submission) *service.Receipt {
	w.t.Helper()
	r, err := w.svc.Submit(w.t.Context(), in)
	require.NoError(w.t, err)
	return r
}

// wait gives a patch once it is decided at the present target commit.
func (w *world) wait(id coordinator.Identity) *service.Patch {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), time.Minute)
	defer cancel()
	p, err := w.svc.Wait(ctx, "", "", id)
	require.NoError(w.t, err)
	return p
}

func (w *world) decided(in service.Submission) *service.Patch {
	w.t.Helper()
	r := w.submit(in)
	require.Nil(w.t, r.Refused)
	return w.wait(r.Identity)
}

// at gives a patch once it is decided at a target commit.
func (w *world) at(id coordinator.Identity, target string) *service.Patch {
	w.t.Helper()
	var p *service.Patch
	require.Eventually(w.t, func() bool {
		p = w.wait(id)
		return string(p.DecidedAt) == target && p.State != service.StateDeciding
	}, time.Minute, 5*time.Millisecond)
	return p
}

// entries lists the ledger of main by kinds; none gives all.
func (w *world) entries(kinds ...string) []service.Entry {
	w.t.Helper()
	all, err := w.svc.Log(w.t.Context(), "r", "refs/heads/main", 1, 500)
	require.NoError(w.t, err)
	if len(kinds) == 0 {
		return all
	}
	var out []service.Entry
	for _, e := range all {
		if strings.Contains(" "+strings.Join(kinds, " ")+" ", " "+e.Kind+" ") {
			out = append(out, e)
		}
	}
	return out
}

// ref reads a ref of the repository, empty where there is none.
func (w *world) ref(name string) string {
	w.t.Helper()
	out, err := w.Try(nil, "rev-parse", "--verify", "-q", name)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}

func candidateRef(id coordinator.Identity) string {
	return "refs/patchd/candidates/" + string(id[:20])
}

// decide is what the pure core makes of a submission: the reference that the daemon must equal.
func (w *world) decide(target string, in service.Submission) (*coordinator.Decision, *coordinator.Plan) {
	w.t.Helper()
	repo, err := git.Open(w.t.Context(), w.Dir(), git.Options{Scratch: w.t.TempDir()})
	require.NoError(w.t, err)
	defer func() { require.NoError(w.t, repo.Close()) }()
	s, err := coordinator.Admit(in.Manifest, in.Diff)
	require.NoError(w.t, err)
	d, plan, err := coordinator.NewEngine(coordinator.EngineConfig{Repo: repo, Outlines: symbols.NewInProcess(0)}).Decide(w.t.Context(), git.OID(target), s, noChecks{})
	require.NoError(w.t, err)
	return d, plan
}

// noChecks is for decisions that ask nothing.
type noChecks struct{}

func (noChecks) Ask(_ context.Context, _ *coordinator.Plan, q coordinator.Question) (coordinator.Verdict, []coordinator.CheckEvidence, error) {
	return "", nil, fmt.Errorf("asked for %q", q.Command)
}

// verified requires that nothing is wrong with the record.
func (w *world) verified() {
	w.t.Helper()
	v, err := w.svc.Verify(w.t.Context(), "r", "refs/heads/main")
	require.NoError(w.t, err)
	require.True(w.t, v.Chain && v.Anchor && v.State, "%v", v.Faults)
}

const tenLines = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\n"

func edited(from, to string) string { return strings.Replace(tenLines, from+"\n", to, 1) }
