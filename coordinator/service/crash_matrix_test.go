package service_test

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"patchd/coordinator"
	"patchd/coordinator/ledger/pgserver"
	"patchd/coordinator/ledger/pgtest"
	"patchd/coordinator/service"
	"patchd/worktree/git/gittest"
)

// How much of the matrix is run: `go test ./coordinator/service -run CrashMatrix -crash-rounds 300 -timeout 1h`.
var (
	crashRounds = flag.Int("crash-rounds", 15, "rounds of the crash matrix")
	crashSeed   = flag.Uint64("crash-seed", 1, "what is crashed when follows from it")
)

// matrix is a world whose daemon is a process of its own, and a client that is not.
type matrix struct {
	*world
	server *pgserver.Server
	r      *rand.Rand
	daemon *exec.Cmd
	extra  *exec.Cmd // one that was stopped and goes on
	serial int
	acked  map[coordinator.Identity]string // by what each adds
}

// crashStep is a step after which something crashes: it is over once reached says so.
type crashStep struct {
	name    string
	reached func(*matrix, coordinator.Identity, int64) bool
}

// crashSteps are those of the order of effects.
func crashSteps() []crashStep {
	return []crashStep{
		{"submission committed", func(*matrix, coordinator.Identity, int64) bool { return true }},
		{"candidate ref created", func(m *matrix, id coordinator.Identity, _ int64) bool {
			return m.ref(candidateRef(id)) != "" || m.landed(id)
		}},
		{"decision recorded", func(m *matrix, id coordinator.Identity, _ int64) bool {
			p, err := m.svc.Patch(m.t.Context(), "", "", string(id))
			return err == nil && p.Decision != nil
		}},
		{"landing intended", func(m *matrix, _ coordinator.Identity, round int64) bool {
			return m.roundIs(round, "landing", "landed", "superseded", "empty")
		}},
		{"target swapped", func(m *matrix, id coordinator.Identity, round int64) bool {
			return m.onBranch(id) > 0 || m.roundIs(round, "superseded", "empty")
		}},
	}
}

// crashFaults are what happens then.
func crashFaults() map[string]func(*matrix) {
	return map[string]func(*matrix){
		"the daemon is killed": func(m *matrix) { m.kill(); m.start() },
		"the database restarts at once": func(m *matrix) {
			require.NoError(m.t, m.server.RestartImmediate(m.t.Context()))
		},
		"the daemon is stopped while another takes over": func(m *matrix) {
			m.finishExtra()
			require.NoError(m.t, m.daemon.Process.Signal(syscall.SIGSTOP))
			m.extra = m.daemon
			m.start()
		},
	}
}

func newMatrix(t *testing.T) *matrix {
	t.Helper()
	server, dsn := pgtest.Server(t)
	m := &matrix{world: worldOn(t, dsn), server: server, r: rand.New(rand.NewPCG(*crashSeed, 1)), acked: map[coordinator.Identity]string{}}
	m.Commit("base", gittest.Tree{".patchd.yml": "version: 1\nrounds: {auto_land: true}\n"})
	m.open()
	m.start()
	t.Cleanup(func() {
		m.kill()
		if m.extra != nil {
			_ = m.extra.Process.Kill()
			_ = m.extra.Wait()
		}
	})
	return m
}

// start starts a daemon with a data directory of its own.
func (m *matrix) start() {
	m.t.Helper()
	orders, err := json.Marshal(daemonOrders{m.config.DatabaseURL, m.Dir(), m.t.TempDir(), m.config.SandboxCommand[0]})
	require.NoError(m.t, err)
	m.daemon = exec.CommandContext(context.WithoutCancel(m.t.Context()), m.config.SandboxCommand[0], daemonMode)
	m.daemon.Stdin, m.daemon.Stderr = strings.NewReader(string(orders)), os.Stderr
	out, err := m.daemon.StdoutPipe()
	require.NoError(m.t, err)
	require.NoError(m.t, m.daemon.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(m.t, err)
	require.Equal(m.t, "open\n", line)
}

func (m *matrix) kill() {
	_ = m.daemon.Process.Kill()
	_ = m.daemon.Wait()
}

// finishExtra lets a daemon that was stopped go on beside its successor for a while, and kills it then.
func (m *matrix) finishExtra() {
	if m.extra == nil {
		return
	}
	_ = m.extra.Process.Signal(syscall.SIGCONT)
	m.submit1()
	_ = m.extra.Process.Kill()
	_ = m.extra.Wait()
	m.extra = nil
	m.kill() // what the killed one had begun is taken up at a start, or once the queue gives it up for lost
	m.start()
}

// patiently tries until the database answers.
func patiently[T any](m *matrix, do func(context.Context) (T, error)) T {
	m.t.Helper()
	var out T
	require.Eventually(m.t, func() bool {
		var err error
		out, err = do(m.t.Context())
		return err == nil
	}, time.Minute, 10*time.Millisecond)
	return out
}

// submit1 hands in a patch that adds a file, until it is acknowledged.
func (m *matrix) submit1() coordinator.Identity {
	m.t.Helper()
	m.serial++
	name := fmt.Sprintf("p%d", m.serial)
	base := m.Git("rev-list", "--max-parents=0", "main")
	in := m.submission(base, addition(name), map[string]any{"patch_id": name, "client_request_id": name})
	id := patiently(m, func(ctx context.Context) (*service.Receipt, error) { return m.svc.Submit(ctx, in) }).Identity
	m.acked[id] = name
	return id
}

// addition is a diff that adds a file with one line.
func addition(name string) []byte {
	return fmt.Appendf(nil, "diff --git a/%[1]s b/%[1]s\nnew file mode 100644\n--- /dev/null\n+++ b/%[1]s\n@@ -0,0 +1 @@\n+%[1]s\n", name)
}

func (m *matrix) roundIs(number int64, status ...string) bool {
	r, err := m.svc.Round(m.t.Context(), "", "", number)
	return err == nil && strings.Contains(" "+strings.Join(status, " ")+" ", " "+r.Status+" ")
}

func (m *matrix) landed(id coordinator.Identity) bool {
	p, err := m.svc.Patch(m.t.Context(), "", "", string(id))
	return err == nil && p.State == service.StateLanded
}

// onBranch counts the commits of the branch that carry a patch.
func (w *world) onBranch(id coordinator.Identity) int {
	out, err := w.Try(nil, "log", "--first-parent", "--format=%(trailers:key=Patch-Identity,valueonly)", "main")
	if err != nil {
		return 0
	}
	return strings.Count(string(out), string(id))
}

// round hands in patches, has them sealed and landed, crashes after a step, and goes on until all have landed.
func (m *matrix) crash(step crashStep, fault func(*matrix)) {
	m.t.Helper()
	defer m.explain(step)
	ids := []coordinator.Identity{m.submit1(), m.submit1()}
	number := m.sealAgain()
	reached := 0
	require.Eventually(m.t, func() bool { reached++; return step.reached(m, ids[0], number) }, time.Minute, time.Millisecond)
	fault(m)
	require.Eventually(m.t, func() bool {
		if m.landed(ids[0]) && m.landed(ids[1]) {
			return true
		}
		if m.roundIs(number, "landed", "stopped", "superseded", "empty") {
			number = m.sealAgain()
		}
		return false
	}, 3*time.Minute, 20*time.Millisecond, step.name) // one that is stopped in a transaction is cut off after a while
}

// explain shows what did not go on.
func (m *matrix) explain(step crashStep) {
	if !m.t.Failed() {
		return
	}
	rounds, err := m.svc.Rounds(context.WithoutCancel(m.t.Context()), "", "", 0, 3)
	m.t.Logf("after %q: rounds %+v (%v)", step.name, rounds, err)
	rows, err := m.connect().Query(context.WithoutCancel(m.t.Context()), "SELECT kind, state::text, attempt, args::text, coalesce(attempted_at::text, ''), scheduled_at::text FROM river.river_job WHERE state <> 'completed' ORDER BY id")
	if err != nil {
		return
	}
	for rows.Next() {
		values, _ := rows.Values()
		m.t.Log(values...)
	}
}

func (m *matrix) sealAgain() int64 {
	return patiently(m, func(ctx context.Context) (*service.Round, error) {
		return m.svc.Seal(ctx, service.SealRequest{By: m.tester()})
	}).Number
}

func TestCrashMatrix(t *testing.T) {
	t.Parallel()
	m := newMatrix(t)
	steps, faults := crashSteps(), crashFaults()
	var names []string
	for name := range faults {
		names = append(names, name)
	}
	cases := len(steps) * len(names)
	slices.Sort(names)
	for n := range *crashRounds {
		at := n % cases // all of the matrix first, in turn; then at random
		if n >= cases {
			at = m.r.IntN(cases)
		}
		step, fault := steps[at%len(steps)], names[at/len(steps)]
		m.crash(step, faults[fault])
		if t.Failed() {
			t.Fatalf("round %d: after %q, %s", n, step.name, fault)
		}
	}
	m.finishExtra()
	number := m.sealAgain()
	require.Eventually(t, func() bool { return m.roundIs(number, "landed", "empty", "superseded", "stopped") }, time.Minute, 20*time.Millisecond)
	m.kill()
	m.restart()
	m.quiet()
	require.Empty(t, m.faults(m.acked))
	m.verified()
	m.Git("fsck", "--full", "--strict")
	require.Empty(t, m.Git("status", "--porcelain"))
}

// faults lists what is wrong with the record of landings: a lost acknowledgement, one that landed twice or without a record, a
// round without exactly one end, a landing without its marker or before the decision.
func (w *world) faults(acked map[coordinator.Identity]string) []string {
	w.t.Helper()
	var out []string
	recorded := map[string]int{}
	decided := map[string]bool{}
	ends := map[float64]int{}
	for from := int64(1); ; {
		page, err := w.svc.Log(w.t.Context(), "r", "refs/heads/main", from, 500)
		require.NoError(w.t, err)
		for _, e := range page {
			from = e.Seq + 1
			number, _ := e.Payload["round"].(float64)
			switch e.Kind {
			case "decided":
				patch, _ := e.Payload["patch"].(map[string]any)
				decided[fmt.Sprint(patch["identity"])] = true
			case "landed":
				ends[number]++
				ids, _ := e.Payload["identities"].([]any)
				for _, id := range ids {
					recorded[fmt.Sprint(id)]++
					if !decided[fmt.Sprint(id)] {
						out = append(out, fmt.Sprintf("patch %v landed before its decision was on record", id))
					}
				}
				if intent, _ := e.Payload["intent"].(float64); w.ref(fmt.Sprintf("refs/patchd/landings/%d", int64(intent))) == "" {
					out = append(out, fmt.Sprintf("landing %d has no marker", int64(intent)))
				}
			case "round_stopped", "round_superseded":
				ends[number]++
			}
		}
		if len(page) < 500 {
			break
		}
	}
	for number, n := range ends {
		if n != 1 {
			out = append(out, fmt.Sprintf("round %d ended %d times", int64(number), n))
		}
	}
	for id, name := range acked {
		if n := recorded[string(id)]; n != 1 {
			out = append(out, fmt.Sprintf("patch %s is recorded as landed %d times", name, n))
		}
		if n := w.onBranch(id); n != 1 {
			out = append(out, fmt.Sprintf("patch %s is on the branch %d times", name, n))
		}
	}
	return out
}
