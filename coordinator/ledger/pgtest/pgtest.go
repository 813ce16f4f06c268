// Package pgtest gives tests real PostgreSQL: one private server for each test process, started by the first test
// that asks, and in it one database for each test, cloned from a migrated template. It refuses to keep anything:
// databases go with their test, the server with the process.
//
// A package that uses it says so in its TestMain:
//
//	func TestMain(m *testing.M) { pgtest.Main(m) }
//
// PATCHD_TEST_DATABASE_URL names a server to use instead; its role must be allowed to make databases.
package pgtest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"patchd/coordinator/ledger"
	"patchd/coordinator/ledger/pgserver"
)

// URLVariable names the environment variable with the URL of a server to use instead of a private one.
const URLVariable = "PATCHD_TEST_DATABASE_URL"

// TB is the part of testing.TB that is needed here.
type TB interface {
	Helper()
	Cleanup(f func())
	Context() context.Context
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// server is the one server of this test process.
type server struct {
	once     sync.Once
	err      error
	url      string           // of its maintenance database
	template string           // the migrated database that is cloned
	private  *pgserver.Server // nil when the environment names a server
}

//nolint:gochecknoglobals // one server for the process's tests is what this package is for
var shared server

// Main runs the tests, then stops the process's server; it panics when that fails. The tests' exit status is kept
// by m, so TestMain need not call os.Exit.
func Main(m interface{ Run() int }) {
	m.Run()
	if err := shared.stop(context.Background()); err != nil {
		panic(err)
	}
}

// New gives the DSN of a new, migrated, empty database that is dropped when the test ends.
func New(t TB) string {
	t.Helper()
	ctx := t.Context()
	shared.once.Do(func() { shared.err = shared.start(context.WithoutCancel(ctx)) })
	if shared.err != nil {
		t.Fatalf("start PostgreSQL for tests: %v", shared.err)
	}
	name := "patchd_test_" + strings.ToLower(rand.Text())
	if err := shared.exec(ctx, `CREATE DATABASE `+name+` TEMPLATE `+shared.template); err != nil {
		t.Fatalf("clone test database: %v", err)
	}
	t.Cleanup(func() {
		if err := shared.exec(context.WithoutCancel(ctx), `DROP DATABASE IF EXISTS `+name+` WITH (FORCE)`); err != nil {
			t.Errorf("drop test database: %v", err)
		}
	})
	return withDatabase(shared.url, name)
}

// Open gives a store on a new database; it is closed when the test ends.
func Open(t TB, clock func() time.Time) *ledger.Store {
	t.Helper()
	store, err := ledger.Open(t.Context(), New(t), ledger.Options{Clock: clock})
	if err != nil {
		t.Fatalf("open test ledger: %v", err)
	}
	t.Cleanup(store.Close)
	return store
}

// Server gives a durable private server of the test's own, to crash and restart, with the DSN of a migrated
// database in it. It is stopped when the test ends.
func Server(t TB) (*pgserver.Server, string) {
	t.Helper()
	ctx := t.Context()
	s, err := pgserver.Start(ctx, pgserver.Options{Ephemeral: true})
	if err != nil {
		t.Fatalf("start PostgreSQL for a test: %v", err)
	}
	t.Cleanup(func() {
		if err := s.Stop(context.WithoutCancel(ctx)); err != nil {
			t.Errorf("stop PostgreSQL of a test: %v", err)
		}
	})
	dsn, err := s.EnsureDatabase(ctx, "patchd")
	if err == nil {
		err = ledger.Migrate(ctx, dsn, ledger.Options{Clock: epoch})
	}
	if err != nil {
		t.Fatalf("prepare PostgreSQL of a test: %v", err)
	}
	return s, dsn
}

// epoch is a clock for what tests do not look at.
func epoch() time.Time { return time.Unix(0, 0) }

func (s *server) start(ctx context.Context) error {
	s.template = "patchd_template_" + strings.ToLower(rand.Text())
	given, set := os.LookupEnv(URLVariable)
	if set && given != "" {
		s.url = given
	} else {
		private, err := pgserver.Start(ctx, pgserver.Options{DataDir: scratch(), Ephemeral: true, Unsafe: true, MaxConnections: 400})
		if err != nil {
			return err
		}
		s.private, s.url = private, private.DSN("postgres")
	}
	if err := s.exec(ctx, `CREATE DATABASE `+s.template); err != nil {
		return fmt.Errorf("make template: %w", err)
	}
	return ledger.Migrate(ctx, withDatabase(s.url, s.template), ledger.Options{Clock: epoch})
}

func (s *server) stop(ctx context.Context) error {
	if s.private != nil {
		return s.private.Stop(ctx)
	}
	if s.url == "" {
		return nil
	}
	return s.exec(ctx, `DROP DATABASE IF EXISTS `+s.template+` WITH (FORCE)`)
}

// exec runs one statement in the maintenance database on a connection of its own.
func (s *server) exec(ctx context.Context, sql string) error {
	conn, err := pgx.Connect(ctx, s.url)
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, sql)
	return errors.Join(err, conn.Close(ctx))
}

// withDatabase is the URL for another database of the same server.
func withDatabase(server, database string) string {
	u, err := url.Parse(server)
	if err != nil || u.Scheme == "" {
		return server + " dbname=" + database // the form with key words, where a later one wins
	}
	u.Path = "/" + database
	return u.String()
}
