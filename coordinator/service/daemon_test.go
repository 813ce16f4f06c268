package service_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"patchd/coordinator"
	"patchd/coordinator/ledger/pgtest"
	"patchd/coordinator/service"
	"patchd/ownership/symbols"
	"patchd/worktree/git"
	"patchd/worktree/git/gittest"
)

func (w *world) connect() *pgx.Conn {
	w.t.Helper()
	conn, err := pgx.Connect(w.t.Context(), w.config.DatabaseURL)
	require.NoError(w.t, err)
	return conn
}

// daemonOrders is what a daemon in a process of its own is told.
type daemonOrders struct{ DSN, Dir, Data, Self string }

// serveDaemon runs a daemon until its process is killed; it gives what kept it from that.
func serveDaemon(in io.Reader, out io.Writer) error {
	var orders daemonOrders
	if err := json.NewDecoder(in).Decode(&orders); err != nil {
		return err
	}
	svc, err := service.Open(context.Background(), service.Config{
		DatabaseURL: orders.DSN, Repos: []service.RepoConfig{{Name: "r", Dir: orders.Dir, Targets: []git.Ref{"refs/heads/main"}}}, DataDir: orders.Data,
		Clock: clock(), Outlines: symbols.NewInProcess(0), SandboxCommand: []string{orders.Self, sandboxMode}, AllowUnsandboxed: true,
		Logger: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
	})
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(out, "open"); err != nil {
		return err
	}
	return svc.Run(context.Background())
}

// daemon starts a daemon in a process of its own; what it gives kills it (SIGKILL).
func (w *world) daemon() (kill func()) {
	w.t.Helper()
	orders, err := json.Marshal(daemonOrders{w.config.DatabaseURL, w.Dir(), w.config.DataDir, w.config.SandboxCommand[0]})
	require.NoError(w.t, err)
	cmd := exec.CommandContext(w.t.Context(), w.config.SandboxCommand[0], daemonMode)
	cmd.Stdin, cmd.Stderr = strings.NewReader(string(orders)), os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(w.t, err)
	require.NoError(w.t, cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(w.t, err)
	require.Equal(w.t, "open\n", line)
	return func() {
		require.NoError(w.t, cmd.Process.Kill())
		require.Error(w.t, cmd.Wait())
	}
}

func TestADaemonThatIsKilledDuringACheckIsFinishedByTheNext(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	base := w.Commit("base", gittest.Tree{"f": tenLines, ".patchd.yml": policyOf("1m", `"sh check.sh"`), "check.sh": "sleep 1\n"})
	w.open()
	id := w.submit(w.submission(base, w.Change(base, gittest.Tree{"f": edited("two", "TWO\n")}), nil)).Identity
	kill := w.daemon()
	conn := w.connect()
	require.Eventually(t, func() bool {
		var running bool
		err := conn.QueryRow(t.Context(), "SELECT EXISTS (SELECT FROM river.river_job WHERE kind = 'check' AND state = 'running')").Scan(&running)
		return err == nil && running
	}, time.Minute, 5*time.Millisecond)
	kill()
	require.NoError(t, conn.Close(t.Context()))
	require.Empty(t, w.entries("decided"))
	w.restart()
	require.Equal(t, coordinator.OutcomeCandidate, w.wait(id).Outcome)
	require.Len(t, w.entries("decided"), 1)
	w.verified()
	w.close()
	require.Len(t, strings.Split(w.Git("worktree", "list"), "\n"), 1, "no worktree is left over")
}

func TestTheDaemonOutlivesARestartOfPostgreSQL(t *testing.T) {
	t.Parallel()
	server, dsn := pgtest.Server(t)
	w := worldOn(t, dsn)
	base := w.Commit("base", gittest.Tree{"f": tenLines, "g": tenLines, ".patchd.yml": policyOf("1m", `"sh check.sh"`), "check.sh": "sleep 0.5\n"})
	w.open()
	w.run()
	for i := range 3 {
		in := w.submission(base, w.Change(base, gittest.Tree{"f" + fmt.Sprint(i): tenLines, "g": edited("two", "TWO\n")}), nil)
		id := w.submit(in).Identity
		if i == 1 {
			require.NoError(t, server.Restart(t.Context()))
		} else {
			require.NoError(t, server.RestartImmediate(t.Context()))
		}
		require.NoError(t, w.svc.Ready(t.Context()))
		require.Equal(t, coordinator.OutcomeCandidate, w.patiently(id).Outcome)
		moved := w.Commit("landed", gittest.Tree{"h": in.Tool + fmt.Sprint(i)})
		require.Eventually(t, func() bool { return string(w.patiently(id).DecidedAt) == moved }, time.Minute, 20*time.Millisecond)
	}
	w.close()
	w.open()
	w.verified()
}

// patiently waits for a decision as a client does that is told to try again.
func (w *world) patiently(id coordinator.Identity) *service.Patch {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), time.Minute)
	defer cancel()
	for {
		p, err := w.svc.Wait(ctx, "", "", id)
		if err == nil {
			return p
		}
		var answer *service.Error
		require.ErrorAs(w.t, err, &answer)
		require.Equal(w.t, service.ErrUnavailable, answer.Code, err)
	}
}
