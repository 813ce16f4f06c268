package ledger_test

import (
	"context"
	"crypto/rand"
	"log/slog"
	"net/url"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"patchd/coordinator/ledger"
	"patchd/coordinator/ledger/pgtest"
)

func options() ledger.Options { return ledger.Options{Clock: stepping()} }

func TestMigrateTwiceAndAtOnceIsTheSameAsOnce(t *testing.T) {
	t.Parallel()
	dsn := pgtest.New(t)
	require.NoError(t, ledger.MigrateDown(t.Context(), dsn, 0, options()))
	var group errgroup.Group
	for range 3 {
		group.Go(func() error { return ledger.Migrate(t.Context(), dsn, options()) })
	}
	require.NoError(t, group.Wait())
	require.NoError(t, ledger.Migrate(t.Context(), dsn, options()))
	openAt(t, dsn)
}

func TestMigrateDownGoesAllTheWayAndUpAgain(t *testing.T) {
	t.Parallel()
	dsn := pgtest.New(t)
	for version := 3; version >= 0; version-- {
		require.NoError(t, ledger.MigrateDown(t.Context(), dsn, version, options()))
	}
	var left int
	require.NoError(t, superuser(t, dsn).QueryRow(t.Context(),
		`SELECT count(*) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
		 WHERE n.nspname IN ('patchd', 'river') AND c.relkind IN ('r', 'S', 'v') AND c.relname <> 'migrations'`).Scan(&left))
	require.Zero(t, left)
	var old *ledger.OldSchemaError
	_, err := ledger.Open(t.Context(), dsn, options())
	require.ErrorAs(t, err, &old)
	require.NoError(t, ledger.Migrate(t.Context(), dsn, options()))
	openAt(t, dsn).admit(t, 1, 1)
}

func TestAnAppliedMigrationThatChangedIsRefused(t *testing.T) {
	t.Parallel()
	dsn := pgtest.New(t)
	_, err := superuser(t, dsn).Exec(t.Context(), `UPDATE patchd.migrations SET checksum = 'other' WHERE version = 2`)
	require.NoError(t, err)
	var changed *ledger.ChangedMigrationError
	require.ErrorAs(t, ledger.Migrate(t.Context(), dsn, options()), &changed)
	require.Equal(t, 2, changed.Version)
	_, err = ledger.Open(t.Context(), dsn, options())
	require.ErrorAs(t, err, &changed)
}

func TestADatabaseOfANewerProgramIsRefused(t *testing.T) {
	t.Parallel()
	dsn := pgtest.New(t)
	_, err := superuser(t, dsn).Exec(t.Context(), `INSERT INTO patchd.migrations VALUES (99, 'future', 'x', now())`)
	require.NoError(t, err)
	var newer *ledger.NewerSchemaError
	require.ErrorAs(t, ledger.Migrate(t.Context(), dsn, options()), &newer)
}

func TestAnEmptyDatabaseMustBeMigratedFirst(t *testing.T) {
	t.Parallel()
	dsn := pgtest.New(t)
	_, err := superuser(t, dsn).Exec(t.Context(), `DROP SCHEMA patchd CASCADE`)
	require.NoError(t, err)
	var old *ledger.OldSchemaError
	_, err = ledger.Open(t.Context(), dsn, options())
	require.ErrorAs(t, err, &old)
	require.Zero(t, old.Applied)
}

// plainRole makes a role that may only make things in the database, and gives its DSN.
func plainRole(t *testing.T, dsn string) string {
	t.Helper()
	role := "plain_" + strings.ToLower(rand.Text())
	conn := superuser(t, dsn)
	database := pgx.Identifier{conn.Config().Database}.Sanitize()
	for _, sql := range []string{
		`DROP SCHEMA patchd CASCADE`, `DROP SCHEMA river CASCADE`,
		`CREATE ROLE ` + role + ` LOGIN PASSWORD 'x'`, `GRANT CREATE ON DATABASE ` + database + ` TO ` + role,
	} {
		_, err := conn.Exec(t.Context(), sql)
		require.NoError(t, err)
	}
	t.Cleanup(func() {
		conn, err := pgx.Connect(context.WithoutCancel(t.Context()), dsn)
		require.NoError(t, err)
		defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
		_, err = conn.Exec(context.WithoutCancel(t.Context()), `DROP OWNED BY `+role+` CASCADE; DROP ROLE `+role)
		require.NoError(t, err)
	})
	if !strings.Contains(dsn, "://") {
		return dsn + " password=x user=" + role
	}
	u, err := url.Parse(dsn)
	require.NoError(t, err)
	query := u.Query()
	query.Set("user", role)
	query.Set("password", "x")
	u.RawQuery, u.User = query.Encode(), nil
	return u.String()
}

func TestARoleThatMayNotMakeRolesIsHeldByTriggersAloneAndWarned(t *testing.T) {
	t.Parallel()
	dsn := plainRole(t, pgtest.New(t))
	var log strings.Builder
	opt := options()
	opt.Logger = slog.New(slog.NewTextHandler(&log, nil))
	require.NoError(t, ledger.Migrate(t.Context(), dsn, opt))
	require.Contains(t, log.String(), "triggers alone")
	w := openAt(t, dsn)
	require.False(t, w.Guarded())
	w.admit(t, 1, 1)
	_, err := w.Pool().Exec(t.Context(), `DELETE FROM ledger_entries`)
	require.Equal(t, "PD001", sqlStateOf(err))
}

type noopArgs struct{}

func (noopArgs) Kind() string { return "noop" }

type noopWorker struct {
	river.WorkerDefaults[noopArgs]
	worked chan<- int64
}

func (w noopWorker) Work(_ context.Context, job *river.Job[noopArgs]) error {
	w.worked <- job.ID
	return nil
}

func TestAJobInsertedWithAnEntryIsWorkedInTheSameDatabase(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	worked := make(chan int64, 1)
	workers := river.NewWorkers()
	river.AddWorker(workers, noopWorker{worked: worked})
	client, err := river.NewClient(riverpgxv5.New(w.Pool()), &river.Config{
		Schema: ledger.RiverSchema, Workers: workers, Queues: map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: 1}},
		Logger: slog.New(slog.DiscardHandler), TestOnly: true,
	})
	require.NoError(t, err)
	require.NoError(t, client.Start(t.Context()))
	t.Cleanup(func() { require.NoError(t, client.Stop(context.WithoutCancel(t.Context()))) })
	var inserted int64
	require.NoError(t, w.locked(t.Context(), func(ctx context.Context, tx *ledger.Tx, target *ledger.Target) error {
		if err := admit(ctx, tx, target, 1, 1); err != nil {
			return err
		}
		job, err := client.InsertTx(ctx, tx.Pgx(), noopArgs{}, nil)
		if err == nil {
			inserted = job.Job.ID
		}
		return err
	}))
	require.Equal(t, inserted, <-worked)
}
