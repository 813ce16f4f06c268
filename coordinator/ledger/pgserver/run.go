package pgserver

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	// fastGrace and immediateGrace are how long each kind of shutdown may take before the next is tried.
	fastGrace      = 15 * time.Second
	immediateGrace = 5 * time.Second
)

// launch starts the server and waits until it takes connections. A server that refuses because processes of a
// killed one still hold its shared memory is started again until they are gone.
func (s *Server) launch(ctx context.Context) error {
	for {
		p, err := s.spawnServer()
		if err != nil {
			return err
		}
		err = s.awaitReady(ctx, p)
		if err == nil {
			s.process, s.adopted = p, false
			return nil
		}
		shutDown(context.WithoutCancel(ctx), p)
		var failed *StartError
		if !errors.As(err, &failed) || !strings.Contains(failed.Log, "shared memory block") {
			return err
		}
		if !pause(ctx) {
			return err
		}
	}
}

func (s *Server) spawnServer() (*process, error) {
	log, err := s.openLog()
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }()                                // the server has its own copy
	cmd := exec.Command(s.binaries.path("postgres"), s.settings()...) //nolint:gosec,noctx // found by this package; outlives any context
	s.dress(cmd)
	cmd.Stdout, cmd.Stderr = log, log
	p, err := spawn(cmd, s.opt.Ephemeral)
	if err != nil {
		return nil, fmt.Errorf("start server as %s: %w", s.account, err)
	}
	return p, nil
}

// awaitReady waits until the server p says that it is ready and answers.
func (s *Server) awaitReady(ctx context.Context, p *process) error {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		file, err := readPIDFile(s.place.cluster())
		if err == nil && file.pid == p.pid && file.status == "ready" {
			return s.answers(ctx, s.place.socket)
		}
		select {
		case <-ctx.Done():
			return &StartError{Reason: ctx.Err().Error(), Log: s.logTail()}
		case <-p.done:
			return &StartError{Reason: "it ended at once", Log: s.logTail()}
		case <-tick.C:
		}
	}
}

// answers reports whether the server behind the socket serves this cluster.
func (s *Server) answers(ctx context.Context, socket string) error {
	conn, err := pgx.Connect(ctx, dsn(socket, "postgres"))
	if err != nil {
		return fmt.Errorf("connect to server: %w", err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	var directory string
	if err := conn.QueryRow(ctx, `SHOW data_directory`).Scan(&directory); err != nil {
		return fmt.Errorf("ask server for its directory: %w", err)
	}
	if directory != s.place.cluster() {
		return fmt.Errorf("the server at %q serves %q", socket, directory)
	}
	return nil
}

// running gives the server that runs on this cluster already, if one does, and its socket directory. One that is
// starting or stopping is waited for.
func (s *Server) running(ctx context.Context) (*process, string, error) {
	for {
		file, err := readPIDFile(s.place.cluster())
		if errors.Is(err, os.ErrNotExist) || (err == nil && !alive(file.pid)) {
			return nil, "", nil
		}
		if err == nil && !isServer(file.pid) {
			// The number was given to another program since; PostgreSQL would take it for a living server.
			return nil, "", s.dropPIDFile()
		}
		if err == nil && file.status == "ready" && s.answers(ctx, file.socket) == nil {
			return watch(context.WithoutCancel(ctx), file.pid), file.socket, nil
		}
		if !pause(ctx) {
			return nil, "", &StartError{Reason: fmt.Sprintf("process %d holds the cluster and does not answer", file.pid), Log: s.logTail()}
		}
	}
}

func (s *Server) dropPIDFile() error {
	if err := os.Remove(filepath.Join(s.place.cluster(), pidFileName)); err != nil {
		return fmt.Errorf("remove stale process file: %w", err)
	}
	return nil
}

const pidFileName = "postmaster.pid"

// pidFile is what a running server says of itself in its cluster (utils/pidfile.h of PostgreSQL).
type pidFile struct {
	pid            int
	socket, status string
}

func readPIDFile(cluster string) (pidFile, error) {
	file, err := os.Open(filepath.Join(cluster, pidFileName)) //nolint:gosec // the server's own directory
	if err != nil {
		return pidFile{}, err
	}
	defer func() { _ = file.Close() }()
	var lines []string
	for scanner := bufio.NewScanner(file); scanner.Scan(); {
		lines = append(lines, strings.TrimSpace(scanner.Text()))
	}
	if len(lines) == 0 {
		return pidFile{}, errors.New("empty process file")
	}
	pid, err := strconv.Atoi(lines[0])
	if err != nil || pid <= 0 {
		return pidFile{}, fmt.Errorf("process file names %q", lines[0])
	}
	out := pidFile{pid: pid}
	if len(lines) >= 5 {
		out.socket = lines[4]
	}
	if len(lines) >= 8 {
		out.status = lines[7]
	}
	return out, nil
}

// pause waits one polling interval, and reports false when ctx has ended.
func pause(ctx context.Context) bool {
	timer := time.NewTimer(pollEvery)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// shutDown ends a server: at open transactions' cost (fast), then without a checkpoint (immediate), then by force.
// It reports whether the process has ended. Ending ctx goes to the next step.
func shutDown(ctx context.Context, p *process) bool {
	for _, step := range []struct {
		signal syscall.Signal
		grace  time.Duration
	}{{syscall.SIGINT, fastGrace}, {syscall.SIGQUIT, immediateGrace}} {
		if p.signal(step.signal) == nil && ended(ctx, p, step.grace) {
			return true
		}
	}
	return p.signal(syscall.SIGKILL) == nil && ended(context.WithoutCancel(ctx), p, immediateGrace)
}

func ended(ctx context.Context, p *process, grace time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	select {
	case <-p.done:
		return true
	case <-ctx.Done():
		return p.exited()
	}
}
