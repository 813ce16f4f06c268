// Package pgserver owns the private PostgreSQL server of a data directory: it finds or fetches the programs,
// initialises a cluster, runs the server, adopts one that outlived its daemon, and stops it.
//
// The server listens on a Unix socket in a directory that only its own account (and root) can enter; there is no
// TCP port and no password. It keeps PostgreSQL's durability settings. PostgreSQL refuses to run as root, so a
// root daemon runs it as the account "postgres", or "nobody" where there is none. A daemon that is killed leaves
// its server running, and the next one adopts it; a server with Options.Ephemeral dies with its daemon (Linux).
//
// Layout: the data directory holds "lock" (one daemon at a time) and "server" with "cluster", "run" (the socket)
// and "log". Where root's data directory lies below directories that the server's account may not enter, "server"
// is made under /var/lib/patchd-postgres instead, and "location" in the data directory names it.
package pgserver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// superuser is the database role that owns the cluster.
const superuser = "patchd"

// Options say where and how the server runs.
type Options struct {
	// DataDir is the server's own directory, made when absent. Empty is allowed with Ephemeral: then a temporary
	// directory is used.
	DataDir string
	// Logger receives what is done; nil discards it.
	Logger *slog.Logger
	// Binaries names the directory with initdb and postgres; empty searches for it.
	Binaries string
	// FetchCache is where programs that had to be fetched are kept; empty stands for a directory beside the cluster.
	FetchCache string
	// FetchURL is the Maven repository that programs are fetched from; empty stands for Maven Central.
	FetchURL string
	// NoFetch forbids fetching programs from the network.
	NoFetch bool
	// Ephemeral makes a server for a test: it dies with this process, and Stop deletes its files.
	Ephemeral bool
	// Unsafe turns durability off (fsync and what belongs to it), for tests that do not crash the server.
	Unsafe bool
	// MaxConnections bounds sessions; zero stands for 100.
	MaxConnections int
	// StartTimeout bounds how long a start may take, crash recovery included; zero stands for a minute.
	StartTimeout time.Duration
}

func (o Options) withDefaults() Options {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.MaxConnections == 0 {
		o.MaxConnections = 100
	}
	if o.StartTimeout == 0 {
		o.StartTimeout = time.Minute
	}
	return o
}

// Server is a running private server. Its methods are safe for concurrent use.
type Server struct {
	opt      Options
	account  account
	dataDir  string // absolute, without symbolic links
	place    place
	binaries binaries

	mu      sync.Mutex
	lock    *dirLock // nil when the server was stopped for good
	process *process
	adopted bool
}

// Start makes the cluster of the data directory when there is none, and starts its server or adopts the one that
// is running. Errors: *LockedError when another daemon uses the directory, *NotFoundError when PostgreSQL's
// programs are nowhere, *StartError when the server does not come up.
func Start(ctx context.Context, opt Options) (*Server, error) {
	opt = opt.withDefaults()
	s, err := prepare(ctx, opt)
	if err != nil {
		return nil, fmt.Errorf("start private PostgreSQL: %w", err)
	}
	if err := s.bringUp(ctx); err != nil {
		s.discard(opt.Ephemeral)
		return nil, fmt.Errorf("start private PostgreSQL: %w", err)
	}
	return s, nil
}

// prepare takes the directory's lock and settles account, place and programs.
func prepare(ctx context.Context, opt Options) (*Server, error) {
	who, err := serverAccount()
	if err != nil {
		return nil, err
	}
	if opt.DataDir == "" {
		if !opt.Ephemeral {
			return nil, errors.New("no data directory given")
		}
		if opt.DataDir, err = EphemeralDir(""); err != nil {
			return nil, fmt.Errorf("make data directory: %w", err)
		}
	}
	s := &Server{opt: opt, account: who}
	if s.lock, err = lockDir(opt.DataDir, who); err != nil {
		return nil, err
	}
	s.dataDir = s.lock.dir
	if s.place, err = settle(s.dataDir, who); err == nil {
		s.binaries, err = s.programs(ctx)
	}
	if err != nil {
		major, readErr := clusterMajor(s.place.cluster())
		s.discard(readErr == nil && major == 0) // what was just made is of no use to anybody
		return nil, err
	}
	return s, nil
}

// bringUp adopts a running server or starts one.
func (s *Server) bringUp(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.opt.StartTimeout)
	defer cancel()
	if err := s.initCluster(ctx); err != nil {
		return err
	}
	running, socket, err := s.running(ctx)
	if err != nil {
		return err
	}
	if running != nil {
		s.opt.Logger.InfoContext(ctx, "adopted the running database server", slog.Int("pid", running.pid))
		s.process, s.adopted, s.place.socket = running, true, socket
		return nil
	}
	return s.launch(ctx)
}

// DSN is the connection URL of a database of this server.
func (s *Server) DSN(database string) string { return dsn(s.place.socket, database) }

func dsn(socket, database string) string {
	query := url.Values{"host": {socket}, "user": {superuser}, "sslmode": {"disable"}}
	u := url.URL{Scheme: "postgres", Path: "/" + database, RawQuery: query.Encode()}
	return u.String()
}

// EnsureDatabase makes the database unless it exists, and gives its DSN.
func (s *Server) EnsureDatabase(ctx context.Context, name string) (string, error) {
	conn, err := pgx.Connect(ctx, s.DSN("postgres"))
	if err != nil {
		return "", fmt.Errorf("make database %q: %w", name, err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	var exists bool
	err = conn.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)`, name).Scan(&exists)
	if err == nil && !exists {
		_, err = conn.Exec(ctx, `CREATE DATABASE `+pgx.Identifier{name}.Sanitize())
	}
	if err != nil {
		return "", fmt.Errorf("make database %q: %w", name, err)
	}
	return s.DSN(name), nil
}

// Adopted reports whether Start found the server running.
func (s *Server) Adopted() bool { return s.adopted }

// Version is the major version of the server's programs.
func (s *Server) Version() int { return s.binaries.major }

// PID is the process id of the running server, zero when it is stopped.
func (s *Server) PID() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process == nil || s.process.exited() {
		return 0
	}
	return s.process.pid
}

// Dirs lists the directories that hold the cluster and its socket: nothing but the server has business there.
func (s *Server) Dirs() []string {
	return []string{s.dataDir, s.place.area, s.place.socket}
}

// Done is closed when the server that runs now has ended, whoever ended it.
func (s *Server) Done() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.process.done
}

// discard gives up what prepare took, and deletes the server's files when they are not to stay.
func (s *Server) discard(files bool) {
	if files {
		s.place.remove()
	}
	if s.opt.Ephemeral {
		_ = os.RemoveAll(s.dataDir) // what is left over of a temporary directory harms nobody
	}
	s.lock.release()
	s.lock = nil
}
