package pgserver

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// initCluster makes the cluster unless it exists. It is made under another name and renamed when it is complete,
// so that a crash leaves no half of one.
func (s *Server) initCluster(ctx context.Context) error {
	major, err := clusterMajor(s.place.cluster())
	if err != nil || major != 0 {
		return err
	}
	partial := s.place.cluster() + ".partial"
	if err := os.RemoveAll(partial); err != nil {
		return fmt.Errorf("remove half-made cluster: %w", err)
	}
	args := []string{"--pgdata", partial, "--username", superuser, "--encoding", "UTF8", "--locale", "C", "--auth", "trust"}
	if s.opt.Unsafe {
		args = append(args, "--no-sync")
	}
	cmd := exec.CommandContext(ctx, s.binaries.path("initdb"), args...) //nolint:gosec // found by this package
	s.dress(cmd)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("initialise cluster as %s: %w: %s", s.account, err, lastLines(string(out), 3))
	}
	if err := os.Rename(partial, s.place.cluster()); err != nil {
		return fmt.Errorf("put cluster in place: %w", err)
	}
	return nil
}

// dress gives a program its account, an environment of its own, and a session that the daemon's terminal does not
// interrupt.
func (s *Server) dress(cmd *exec.Cmd) {
	cmd.Dir = s.place.area
	cmd.Env = []string{"PATH=/usr/local/bin:/usr/bin:/bin", "LC_ALL=C", "TZ=UTC"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Credential: s.account.credential()}
}

// settings are the server's, given on its command line so that those in the cluster's files do not matter.
func (s *Server) settings() []string {
	list := []string{
		"listen_addresses=", "port=5432",
		"unix_socket_directories=" + quoteList(s.place.socket), "unix_socket_permissions=0700",
		"max_connections=" + strconv.Itoa(s.opt.MaxConnections),
		"shared_buffers=32MB", "max_wal_size=256MB", "min_wal_size=32MB",
		"wal_level=minimal", "max_wal_senders=0", "max_parallel_workers=0", "jit=off", "huge_pages=off",
		"timezone=UTC", "log_timezone=UTC", "log_min_messages=warning", "logging_collector=off", "log_destination=stderr",
		"cluster_name=patchd",
		"fsync=on", "synchronous_commit=on", "full_page_writes=on",
	}
	if s.opt.Unsafe {
		list = append(list, "fsync=off", "synchronous_commit=off", "full_page_writes=off", "autovacuum=off")
	}
	args := make([]string, 0, 2*len(list)+2)
	args = append(args, "-D", s.place.cluster())
	for _, setting := range list {
		args = append(args, "-c", setting)
	}
	return args
}

// quoteList quotes a path for a setting that is a list of paths.
func quoteList(path string) string { return `"` + strings.ReplaceAll(path, `"`, `""`) + `"` }

// logTail is the end of the server's log.
func (s *Server) logTail() string {
	text, err := os.ReadFile(s.place.logFile())
	if err != nil {
		return ""
	}
	return lastLines(string(text), 5)
}

// openLog opens the server's log for appending; a long one is put aside first.
func (s *Server) openLog() (*os.File, error) {
	path := s.place.logFile()
	if info, err := os.Stat(path); err == nil && info.Size() > 4<<20 {
		if err := os.Rename(path, filepath.Join(filepath.Dir(path), "server.log.old")); err != nil {
			return nil, fmt.Errorf("put server log aside: %w", err)
		}
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600) //nolint:gosec // the server's own directory
	if err != nil {
		return nil, fmt.Errorf("open server log: %w", err)
	}
	return file, nil
}

func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "; ")
}
