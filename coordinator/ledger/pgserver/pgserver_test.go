package pgserver_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"patchd/coordinator/ledger/pgserver"
)

// daemonVariable makes this test binary play a daemon that starts a server and is then killed.
const daemonVariable = "PGSERVER_TEST_DAEMON"

const (
	waitFor   = 20 * time.Second
	waitEvery = 5 * time.Millisecond
)

func TestMain(m *testing.M) {
	if given, set := os.LookupEnv(daemonVariable); set {
		playDaemon(given)
		return
	}
	goleak.VerifyTestMain(m)
}

type daemonSays struct {
	PID     int
	Adopted bool
	Dirs    []string
}

// playDaemon starts a server with the given options, says so on stdout, and waits to be killed.
func playDaemon(given string) {
	var opt pgserver.Options
	if err := json.Unmarshal([]byte(given), &opt); err != nil {
		panic(err)
	}
	s, err := pgserver.Start(context.Background(), opt)
	if err != nil {
		panic(err)
	}
	said, err := json.Marshal(daemonSays{PID: s.PID(), Adopted: s.Adopted(), Dirs: s.Dirs()})
	if err != nil {
		panic(err)
	}
	fmt.Println(string(said))
	<-s.Done()
}

// runDaemon starts a daemon process, waits for its server, and kills the daemon.
func runAndKillDaemon(t *testing.T, opt pgserver.Options) daemonSays {
	t.Helper()
	given, err := json.Marshal(opt)
	require.NoError(t, err)
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), daemonVariable+"="+string(given))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	var says daemonSays
	line, readErr := bufio.NewReader(out).ReadBytes('\n')
	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait() // killed
	require.NoError(t, readErr)
	require.NoError(t, json.Unmarshal(line, &says))
	return says
}

func start(t *testing.T, opt pgserver.Options) *pgserver.Server {
	t.Helper()
	s, err := pgserver.Start(t.Context(), opt)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Remove(context.WithoutCancel(t.Context()))) })
	return s
}

func query(t *testing.T, s *pgserver.Server, sql string) string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), s.DSN("postgres"))
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close(t.Context())) }()
	var out string
	require.NoError(t, conn.QueryRow(t.Context(), sql).Scan(&out))
	return out
}

// gone reports whether the process has ended, reaped or not.
func gone(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || strings.Contains(string(stat), ") Z ")
}

func TestAServerIsDurablePrivateAndStopsWithoutALeftover(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, err := pgserver.Start(t.Context(), pgserver.Options{DataDir: dir})
	require.NoError(t, err)
	require.False(t, s.Adopted())
	require.Equal(t, "on/on/on//1", query(t, s, `SELECT concat_ws('/', current_setting('fsync'), current_setting('synchronous_commit'),
		current_setting('full_page_writes'), current_setting('listen_addresses'), (SELECT count(*) FROM pg_roles WHERE rolsuper))`))
	require.Equal(t, "UTF8 C", query(t, s, `SELECT concat_ws(' ', current_setting('server_encoding'), datcollate) FROM pg_database WHERE datname = 'postgres'`))
	for _, private := range s.Dirs()[1:] {
		info, err := os.Stat(private)
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o700), info.Mode().Perm(), private)
	}

	dsn, err := s.EnsureDatabase(t.Context(), "patchd")
	require.NoError(t, err)
	again, err := s.EnsureDatabase(t.Context(), "patchd")
	require.NoError(t, err)
	require.Equal(t, dsn, again)

	var locked *pgserver.LockedError
	_, err = pgserver.Start(t.Context(), pgserver.Options{DataDir: dir})
	require.ErrorAs(t, err, &locked)

	pid := s.PID()
	require.NoError(t, s.Stop(t.Context()))
	require.NoError(t, s.Stop(t.Context()), "a second stop does nothing")
	require.True(t, gone(pid))
	require.Zero(t, s.PID())

	s = start(t, pgserver.Options{DataDir: dir})
	require.Equal(t, "1", query(t, s, `SELECT count(*)::text FROM pg_database WHERE datname = 'patchd'`))
}

func TestAServerThatOutlivedItsDaemonIsAdopted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	says := runAndKillDaemon(t, pgserver.Options{DataDir: dir})
	require.False(t, gone(says.PID), "the server outlives its daemon")
	s := start(t, pgserver.Options{DataDir: dir})
	require.True(t, s.Adopted())
	require.Equal(t, says.PID, s.PID())
	require.Equal(t, "1", query(t, s, `SELECT '1'`))

	require.NoError(t, s.Restart(t.Context()))
	require.NotEqual(t, says.PID, s.PID())
	require.True(t, gone(says.PID))
	require.Equal(t, "1", query(t, s, `SELECT '1'`))
}

func TestAnAdoptedServerIsStoppedWithItsNewDaemon(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	says := runAndKillDaemon(t, pgserver.Options{DataDir: dir})
	s, err := pgserver.Start(t.Context(), pgserver.Options{DataDir: dir})
	require.NoError(t, err)
	require.True(t, s.Adopted())
	require.NoError(t, s.Remove(t.Context()))
	require.True(t, gone(says.PID))
	_, err = os.Stat(s.Dirs()[1])
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestAnEphemeralServerDiesWithItsDaemon(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("only Linux ties a server's life to its daemon's")
	}
	says := runAndKillDaemon(t, pgserver.Options{DataDir: t.TempDir(), Ephemeral: true, Unsafe: true})
	t.Cleanup(func() { _ = os.RemoveAll(says.Dirs[1]) })
	require.Eventually(t, func() bool { return gone(says.PID) }, waitFor, waitEvery)
}

func TestAnEphemeralServerLeavesNoFiles(t *testing.T) {
	t.Parallel()
	s, err := pgserver.Start(t.Context(), pgserver.Options{Ephemeral: true, Unsafe: true})
	require.NoError(t, err)
	dirs := s.Dirs()
	require.NoError(t, s.Stop(t.Context()))
	for _, dir := range dirs {
		_, err := os.Stat(dir)
		require.ErrorIs(t, err, os.ErrNotExist, dir)
	}
}

func TestADeepDataDirectoryGetsAShortSocketPath(t *testing.T) {
	t.Parallel()
	deep := filepath.Join(t.TempDir(), strings.Repeat("d", 60), strings.Repeat("e", 60))
	s := start(t, pgserver.Options{DataDir: deep, Unsafe: true})
	socket := s.Dirs()[2]
	require.LessOrEqual(t, len(socket)+len("/.s.PGSQL.5432"), 107)
	require.Equal(t, "1", query(t, s, `SELECT '1'`))
	require.NoError(t, s.Stop(t.Context()))
	s = start(t, pgserver.Options{DataDir: deep, Unsafe: true})
	require.Equal(t, socket, s.Dirs()[2], "the next start uses the same directory")
}

func TestWhatWasCommittedSurvivesEachKindOfRestart(t *testing.T) {
	t.Parallel()
	s := start(t, pgserver.Options{DataDir: t.TempDir()})
	conn, err := pgx.Connect(t.Context(), s.DSN("postgres"))
	require.NoError(t, err)
	_, err = conn.Exec(t.Context(), `CREATE TABLE kept (n int)`)
	require.NoError(t, err)
	for i, restart := range []func(context.Context) error{
		s.Restart,
		s.RestartImmediate,
		func(ctx context.Context) error {
			if err := s.Crash(ctx); err != nil {
				return err
			}
			return s.Restart(ctx)
		},
	} {
		conn, err := pgx.Connect(t.Context(), s.DSN("postgres"))
		require.NoError(t, err)
		_, err = conn.Exec(t.Context(), `INSERT INTO kept VALUES ($1)`, i)
		require.NoError(t, err)
		pid, done := s.PID(), s.Done()
		require.NoError(t, restart(t.Context()))
		<-done
		require.NotEqual(t, pid, s.PID())
		require.Equal(t, strconv.Itoa(i+1), query(t, s, `SELECT count(*)::text FROM kept`))
		_ = conn.Close(t.Context()) // its server is gone
	}
	_ = conn.Close(t.Context())
}

func TestAProcessFileThatNamesAnotherProgramDoesNotStopAStart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, err := pgserver.Start(t.Context(), pgserver.Options{DataDir: dir, Unsafe: true})
	require.NoError(t, err)
	cluster := filepath.Join(s.Dirs()[1], "cluster")
	require.NoError(t, s.Crash(t.Context()))
	require.NoError(t, s.Stop(t.Context()))
	file, err := os.ReadFile(filepath.Join(cluster, "postmaster.pid"))
	require.NoError(t, err)
	_, rest, _ := strings.Cut(string(file), "\n")
	stale := strconv.Itoa(os.Getpid()) + "\n" + rest
	require.NoError(t, os.WriteFile(filepath.Join(cluster, "postmaster.pid"), []byte(stale), 0o600))
	s = start(t, pgserver.Options{DataDir: dir, Unsafe: true})
	require.False(t, s.Adopted())
	require.Equal(t, "1", query(t, s, `SELECT '1'`))
}

func TestAHalfMadeClusterIsMadeAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, err := pgserver.Start(t.Context(), pgserver.Options{DataDir: dir, Unsafe: true})
	require.NoError(t, err)
	area := s.Dirs()[1]
	require.NoError(t, s.Stop(t.Context()))
	require.NoError(t, os.Rename(filepath.Join(area, "cluster"), filepath.Join(area, "cluster.partial")))
	s = start(t, pgserver.Options{DataDir: dir, Unsafe: true})
	require.Equal(t, "1", query(t, s, `SELECT '1'`))
	_, err = os.Stat(filepath.Join(area, "cluster.partial"))
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestAsRootTheServerRunsAsAnotherAccount(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("not root")
	}
	private := filepath.Join(t.TempDir(), "private")
	require.NoError(t, os.Mkdir(private, 0o700))
	dir := filepath.Join(private, "data")
	s := start(t, pgserver.Options{DataDir: dir, Unsafe: true})
	info, err := os.Stat(fmt.Sprintf("/proc/%d", s.PID()))
	require.NoError(t, err)
	stat, ok := info.Sys().(*syscall.Stat_t)
	require.True(t, ok)
	require.NotZero(t, stat.Uid)
	area := s.Dirs()[1]
	require.NotContains(t, area, private, "the account cannot enter the data directory's parents")
	pointer, err := os.ReadFile(filepath.Join(dir, "location"))
	require.NoError(t, err)
	require.Equal(t, area, strings.TrimSpace(string(pointer)))
	require.NoError(t, s.Stop(t.Context()))
	s = start(t, pgserver.Options{DataDir: dir, Unsafe: true})
	require.Equal(t, area, s.Dirs()[1], "the next start finds it again")
}

func TestMissingProgramsAreOneClearLine(t *testing.T) {
	t.Parallel()
	var missing *pgserver.NotFoundError
	_, err := pgserver.Start(t.Context(), pgserver.Options{DataDir: t.TempDir(), Binaries: t.TempDir(), NoFetch: true})
	require.ErrorAs(t, err, &missing)
	require.NotContains(t, err.Error(), "\n")
	require.Contains(t, err.Error(), `install the package "postgresql"`)
	_, _, err = pgserver.Find(t.Context(), pgserver.Options{Binaries: t.TempDir()})
	require.ErrorAs(t, err, &missing)
	dir, major, err := pgserver.Find(t.Context(), pgserver.Options{})
	require.NoError(t, err)
	require.FileExists(t, filepath.Join(dir, "postgres"))
	require.GreaterOrEqual(t, major, 13)
}

func TestWhatAKilledTestLeftIsDeletedByTheNext(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	left, err := pgserver.EphemeralDir(parent)
	require.NoError(t, err)
	says := runAndKillDaemon(t, pgserver.Options{DataDir: left, Ephemeral: true, Unsafe: true})
	require.Eventually(t, func() bool { return gone(says.PID) }, waitFor, waitEvery)
	t.Cleanup(func() { _ = os.RemoveAll(says.Dirs[1]) })
	used, err := pgserver.EphemeralDir(parent)
	require.NoError(t, err)
	start(t, pgserver.Options{DataDir: used, Ephemeral: true, Unsafe: true})
	fresh, err := pgserver.EphemeralDir(parent)
	require.NoError(t, err)
	names, err := filepath.Glob(filepath.Join(parent, "*"))
	require.NoError(t, err)
	require.ElementsMatch(t, []string{used, fresh}, names, "one in use, and one just made, are kept")
}

func TestEraseDeletesAStoppedServerAndNoOther(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, err := pgserver.Start(t.Context(), pgserver.Options{DataDir: dir, Unsafe: true})
	require.NoError(t, err)
	var locked *pgserver.LockedError
	require.ErrorAs(t, pgserver.Erase(dir), &locked)
	require.NoError(t, s.Stop(t.Context()))
	require.NoError(t, pgserver.Erase(dir))
	_, err = os.Stat(s.Dirs()[1])
	require.ErrorIs(t, err, os.ErrNotExist)

	says := runAndKillDaemon(t, pgserver.Options{DataDir: dir, Unsafe: true})
	require.ErrorContains(t, pgserver.Erase(dir), strconv.Itoa(says.PID))
	start(t, pgserver.Options{DataDir: dir, Unsafe: true})
}
