package ledger

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"

	"patchd/migrations"
)

// migrationLock is the advisory lock under which one daemon at a time migrates a database ("patchd" in ASCII).
const migrationLock int64 = 0x706174636864

// ChangedMigrationError says that a migration that was applied is not the one that this program carries.
type ChangedMigrationError struct {
	Version           int
	Name              string
	Applied, Embedded string // checksums
}

func (e *ChangedMigrationError) Error() string {
	return fmt.Sprintf("migration %d (%s) was applied with other content", e.Version, e.Name)
}

// NewerSchemaError says that the database was migrated by a newer program.
type NewerSchemaError struct{ Applied, Known int }

func (e *NewerSchemaError) Error() string {
	return fmt.Sprintf("the database has migration %d, this program knows %d: use the newer program", e.Applied, e.Known)
}

// OldSchemaError says that Migrate has not been run for this program.
type OldSchemaError struct{ Applied, Known int }

func (e *OldSchemaError) Error() string {
	return fmt.Sprintf("the database has migration %d, this program needs %d: migrate it first", e.Applied, e.Known)
}

// Migrate brings the database of dsn up to this program's schema, and the job queue's tables up to its own, in
// order and under an advisory lock, so that daemons may start at once. A migration that was applied with other
// content is an error. Where the role of dsn may make roles, the tables are owned by OwnerRole and the job
// queue's by AppRole; where it may not, it owns all itself, and a warning says so.
func Migrate(ctx context.Context, dsn string, opt Options) error {
	known, err := migrations.All()
	if err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	return migrating(ctx, dsn, opt, func(ctx context.Context, m *migrator) error {
		if err := m.up(ctx, known); err != nil {
			return err
		}
		if err := m.grant(ctx); err != nil {
			return err
		}
		return migrateRiver(ctx, dsn, m.guarded, rivermigrate.DirectionUp)
	})
}

// MigrateDown takes the schema back to the given version, which destroys what later migrations hold. Version 0
// removes everything, the job queue's tables included.
func MigrateDown(ctx context.Context, dsn string, version int, opt Options) error {
	known, err := migrations.All()
	if err != nil {
		return fmt.Errorf("migrate down: %w", err)
	}
	return migrating(ctx, dsn, opt, func(ctx context.Context, m *migrator) error {
		if version == 0 {
			if err := migrateRiver(ctx, dsn, m.guarded, rivermigrate.DirectionDown); err != nil {
				return err
			}
		}
		return m.down(ctx, known, version)
	})
}

type migrator struct {
	conn    *pgx.Conn
	now     func() any
	guarded bool
}

func migrating(ctx context.Context, dsn string, opt Options, do func(context.Context, *migrator) error) error {
	if opt.Clock == nil {
		return errors.New("migrate: no clock given")
	}
	opt = opt.withDefaults()
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return fmt.Errorf("migrate: connect: %w", err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }() // which also gives the lock back
	if _, err := conn.Exec(ctx, `SELECT pg_advisory_lock($1)`, migrationLock); err != nil {
		return fmt.Errorf("migrate: take lock: %w", err)
	}
	m := &migrator{conn: conn, now: func() any { return opt.Clock().UTC() }}
	if err := m.prepare(ctx, opt.Logger); err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	if err := do(ctx, m); err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	return nil
}

// prepare makes roles, schemas and the table that records what was applied.
func (m *migrator) prepare(ctx context.Context, log *slog.Logger) error {
	guarded, err := ensureRoles(ctx, m.conn)
	if err != nil {
		return err
	}
	m.guarded = guarded
	if !guarded {
		log.WarnContext(ctx, "the database role may not make roles: it owns the tables itself, append-only is held by triggers alone")
	}
	owner, app := "CURRENT_USER", "CURRENT_USER"
	if guarded {
		owner, app = OwnerRole, AppRole
	}
	for _, sql := range []string{
		`CREATE SCHEMA IF NOT EXISTS ` + Schema + ` AUTHORIZATION ` + owner,
		`CREATE SCHEMA IF NOT EXISTS ` + RiverSchema + ` AUTHORIZATION ` + app,
	} {
		if _, err := m.conn.Exec(ctx, sql); err != nil {
			return fmt.Errorf("make schema: %w", err)
		}
	}
	return m.asOwner(ctx, `CREATE TABLE IF NOT EXISTS patchd.migrations (
		version integer PRIMARY KEY, name text NOT NULL, checksum text NOT NULL, applied_at timestamptz NOT NULL)`)
}

// asOwner runs one script, and its record, in a transaction of the owner's.
func (m *migrator) asOwner(ctx context.Context, script string, then ...func(pgx.Tx) error) error {
	return pgx.BeginFunc(ctx, m.conn, func(tx pgx.Tx) error {
		if m.guarded {
			if _, err := tx.Exec(ctx, `SET LOCAL ROLE `+OwnerRole); err != nil {
				return err
			}
		}
		// The simple protocol takes a script of several statements.
		if _, err := tx.Conn().PgConn().Exec(ctx, script).ReadAll(); err != nil {
			return err
		}
		for _, step := range then {
			if err := step(tx); err != nil {
				return err
			}
		}
		return nil
	})
}

// applied gives the number of the last applied migration after comparing all with those known.
func (m *migrator) applied(ctx context.Context, known []migrations.Migration) (int, error) {
	return appliedVersion(ctx, m.conn, known)
}

// rowReader is a connection or a pool.
type rowReader interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

func appliedVersion(ctx context.Context, q rowReader, known []migrations.Migration) (int, error) {
	rows, _ := q.Query(ctx, `SELECT version, checksum FROM patchd.migrations ORDER BY version`) // the rows carry the error
	var version, last int
	var checksum string
	_, err := pgx.ForEachRow(rows, []any{&version, &checksum}, func() error {
		last = version
		if version > len(known) {
			return &NewerSchemaError{Applied: version, Known: len(known)}
		}
		if want := known[version-1]; want.Checksum() != checksum {
			return &ChangedMigrationError{Version: version, Name: want.Name, Applied: checksum, Embedded: want.Checksum()}
		}
		return nil
	})
	if sqlState(err) == stateUndefinedTable { // never migrated
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read applied migrations: %w", err)
	}
	return last, nil
}

func (m *migrator) up(ctx context.Context, known []migrations.Migration) error {
	last, err := m.applied(ctx, known)
	if err != nil {
		return err
	}
	for _, step := range known[last:] {
		err := m.asOwner(ctx, step.Up, func(tx pgx.Tx) error {
			_, err := tx.Exec(ctx, `INSERT INTO patchd.migrations (version, name, checksum, applied_at) VALUES ($1, $2, $3, $4)`,
				step.Version, step.Name, step.Checksum(), m.now())
			return err
		})
		if err != nil {
			return fmt.Errorf("apply migration %d (%s): %w", step.Version, step.Name, err)
		}
	}
	return nil
}

func (m *migrator) down(ctx context.Context, known []migrations.Migration, version int) error {
	last, err := m.applied(ctx, known)
	if err != nil {
		return err
	}
	if version < 0 || version > last {
		return fmt.Errorf("cannot go down from migration %d to %d", last, version)
	}
	steps := slices.Clone(known[version:last])
	slices.Reverse(steps)
	for _, step := range steps {
		err := m.asOwner(ctx, step.Down, func(tx pgx.Tx) error {
			_, err := tx.Exec(ctx, `DELETE FROM patchd.migrations WHERE version = $1`, step.Version)
			return err
		})
		if err != nil {
			return fmt.Errorf("take migration %d (%s) back: %w", step.Version, step.Name, err)
		}
	}
	return nil
}

// grant gives the daemon's role what it needs, and nothing that could change a record.
func (m *migrator) grant(ctx context.Context) error {
	if !m.guarded {
		return nil
	}
	var script strings.Builder
	script.WriteString(`REVOKE ALL ON ALL TABLES IN SCHEMA patchd FROM ` + AppRole + `;
		GRANT USAGE ON SCHEMA patchd TO ` + AppRole + `;
		GRANT SELECT, INSERT ON ALL TABLES IN SCHEMA patchd TO ` + AppRole + `;
		REVOKE INSERT ON patchd.migrations FROM ` + AppRole + ";\n")
	rights := grants()
	for _, table := range slices.Sorted(maps.Keys(rights)) {
		fmt.Fprintf(&script, "GRANT %s ON patchd.%s TO %s;\n", rights[table], table, AppRole)
	}
	if err := m.asOwner(ctx, script.String()); err != nil {
		return fmt.Errorf("grant rights: %w", err)
	}
	return nil
}

// migrateRiver runs the job queue's own migrations, as the role that will work with its tables.
func migrateRiver(ctx context.Context, dsn string, guarded bool, direction rivermigrate.Direction) error {
	config, err := poolConfig(dsn, guarded, 2)
	if err != nil {
		return err
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return fmt.Errorf("connect for job queue: %w", err)
	}
	defer pool.Close()
	m, err := rivermigrate.New(riverpgxv5.New(pool), &rivermigrate.Config{Schema: RiverSchema, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return fmt.Errorf("migrate job queue: %w", err)
	}
	opts := &rivermigrate.MigrateOpts{}
	if direction == rivermigrate.DirectionDown {
		opts.TargetVersion = -1
	}
	if _, err := m.Migrate(ctx, direction, opts); err != nil {
		return fmt.Errorf("migrate job queue: %w", err)
	}
	return nil
}

// checkSchema refuses a database that this program's Migrate did not prepare.
func (s *Store) checkSchema(ctx context.Context) error {
	known, err := migrations.All()
	if err != nil {
		return err
	}
	last, err := appliedVersion(ctx, s.pool, known)
	if err != nil {
		return err
	}
	if last < len(known) {
		return &OldSchemaError{Applied: last, Known: len(known)}
	}
	return nil
}
