package ledger_test

import (
	"context"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"patchd/coordinator/ledger"
	"patchd/coordinator/ledger/pgtest"
)

// superuser connects as the server's owner, whom nothing stops.
func superuser(t *testing.T, dsn string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, conn.Close(context.WithoutCancel(t.Context()))) })
	return conn
}

func openAt(t *testing.T, dsn string) world {
	t.Helper()
	store, err := ledger.Open(t.Context(), dsn, ledger.Options{Clock: stepping()})
	require.NoError(t, err)
	t.Cleanup(store.Close)
	return worldIn(t, store)
}

func sqlStateOf(err error) string {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return pg.Code
	}
	return ""
}

// recordTables are the tables whose rows are never changed nor deleted.
func recordTables() []string {
	return []string{
		"ledger_entries", "contents", "attempts", "attempt_outcomes", "submissions", "withdrawals",
		"request_keys", "verdicts", "resolutions",
	}
}

func TestTheDaemonsRoleCannotChangeARecord(t *testing.T) {
	t.Parallel()
	w := openAt(t, pgtest.New(t))
	require.True(t, w.Guarded())
	w.admit(t, 1, 1)
	for _, table := range recordTables() {
		stamp := "created_at"
		if table == "submissions" {
			stamp = "received_at"
		}
		for _, sql := range []string{
			"UPDATE " + table + " SET " + stamp + " = now()",
			"DELETE FROM " + table,
			"TRUNCATE " + table + " CASCADE",
			"ALTER TABLE " + table + " DISABLE TRIGGER ALL",
			"ALTER TABLE " + table + " ADD COLUMN x int",
			"DROP TABLE " + table,
			"CREATE RULE quiet AS ON INSERT TO " + table + " DO INSTEAD NOTHING",
		} {
			_, err := w.Pool().Exec(t.Context(), sql)
			require.Equal(t, "42501", sqlStateOf(err), "%s: %v", sql, err)
		}
	}
	for _, sql := range []string{
		"DELETE FROM targets", "DELETE FROM patches", "DELETE FROM landings", "UPDATE migrations SET checksum = ''",
		"UPDATE landings SET new_commit = old_commit", "DROP SCHEMA patchd CASCADE",
		"CREATE OR REPLACE FUNCTION patchd.refuse_change() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'",
	} {
		_, err := w.Pool().Exec(t.Context(), sql)
		require.Equal(t, "42501", sqlStateOf(err), "%s: %v", sql, err)
	}
}

func TestEvenTheOwnerIsRefusedByTheTriggers(t *testing.T) {
	t.Parallel()
	dsn := pgtest.New(t)
	w := openAt(t, dsn)
	w.admit(t, 1, 1)
	conn := superuser(t, dsn)
	for _, table := range recordTables() {
		_, err := conn.Exec(t.Context(), "TRUNCATE patchd."+table+" CASCADE")
		require.Equal(t, "PD001", sqlStateOf(err), "%s: %v", table, err)
	}
	for _, table := range []string{"ledger_entries", "contents", "attempts", "submissions"} {
		for _, sql := range []string{"UPDATE patchd." + table + " SET target_id = 1", "DELETE FROM patchd." + table} {
			if table == "contents" {
				sql = "DELETE FROM patchd.contents"
			}
			_, err := conn.Exec(t.Context(), sql)
			require.Equal(t, "PD001", sqlStateOf(err), "%s: %v", sql, err)
		}
	}
}

func TestContentsAreWhatTheirDigestSays(t *testing.T) {
	t.Parallel()
	w := openAt(t, pgtest.New(t))
	var digest, empty ledger.Digest
	require.NoError(t, w.InTx(t.Context(), func(ctx context.Context, tx *ledger.Tx) (err error) {
		if digest, err = tx.PutContent(ctx, []byte("bytes\x00\xff")); err != nil {
			return err
		}
		if _, err = tx.PutContent(ctx, []byte("bytes\x00\xff")); err != nil {
			return err
		}
		empty, err = tx.PutContent(ctx, nil)
		return err
	}))
	got, err := w.Content(t.Context(), digest)
	require.NoError(t, err)
	require.Equal(t, []byte("bytes\x00\xff"), got)
	all, err := w.Contents(t.Context(), []ledger.Digest{digest, empty, ledger.ZeroHash})
	require.NoError(t, err)
	require.Equal(t, map[ledger.Digest][]byte{digest: []byte("bytes\x00\xff"), empty: {}}, all)

	var missing *ledger.NotFoundError
	_, err = w.Content(t.Context(), ledger.ZeroHash)
	require.ErrorAs(t, err, &missing)
	_, err = w.Pool().Exec(t.Context(), `INSERT INTO contents VALUES (repeat('0', 64), 'x', now())`)
	require.Equal(t, "23514", sqlStateOf(err), "a content under another digest is refused by the database")
}

func TestVerifyChainDetectsEachTampering(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		sql  string
		code string
	}{
		"payload changed":             {`UPDATE ledger_entries SET payload = '{"n":9}' WHERE seq = 2`, ledger.ProblemPayload},
		"payload and digest changed":  {`UPDATE ledger_entries SET payload = '{}', payload_sha256 = encode(sha256('{}'), 'hex') WHERE seq = 2`, ledger.ProblemHash},
		"operational changed":         {`UPDATE ledger_entries SET operational = '{"x":1}' WHERE seq = 2`, ledger.ProblemOperational},
		"kind changed":                {`UPDATE ledger_entries SET kind = 'landed' WHERE seq = 2`, ledger.ProblemHash},
		"time changed":                {`UPDATE ledger_entries SET created_at = created_at + interval '1 microsecond' WHERE seq = 2`, ledger.ProblemHash},
		"entry deleted in the middle": {`DELETE FROM ledger_entries WHERE seq = 2`, ledger.ProblemGap},
		"entry replaced":              {`UPDATE ledger_entries SET hash = repeat('a', 64) WHERE seq = 2`, ledger.ProblemLink},
		"tail cut":                    {`DELETE FROM ledger_entries WHERE seq = 3`, ledger.ProblemHead},
		"tail cut, head mended": {`DELETE FROM ledger_entries WHERE seq = 3; UPDATE targets SET version = 2,
			head_hash = (SELECT hash FROM ledger_entries WHERE seq = 2)`, ledger.ProblemAnchor},
		"diff changed": {`ALTER TABLE contents DROP CONSTRAINT contents_check; UPDATE contents SET bytes = 'x'`, ledger.ProblemContent},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dsn := pgtest.New(t)
			w := openAt(t, dsn)
			w.admit(t, 1, 1)
			w.append(t, "decided", map[string]int{"n": 2})
			head := w.append(t, "decided", map[string]int{"n": 3})
			anchor := ledger.Anchor{Hash: head.Hash}
			report, err := w.VerifyChain(t.Context(), w.target, anchor)
			require.NoError(t, err)
			require.True(t, report.OK(), jsonOf(t, report.Problems))

			_, err = superuser(t, dsn).Exec(t.Context(), `SET search_path = patchd; SET session_replication_role = replica; `+tc.sql)
			require.NoError(t, err)
			report, err = w.VerifyChain(t.Context(), w.target, anchor)
			require.NoError(t, err)
			require.Contains(t, codes(report.Problems), tc.code)
		})
	}
}

func codes(problems []ledger.Problem) []string {
	var list []string
	for _, p := range problems {
		list = append(list, p.Code)
	}
	return list
}

func TestAnAnchorBehindTheHeadIsNoProblem(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	anchored := w.append(t, "decided", map[string]any{})
	w.append(t, "decided", map[string]any{})
	report, err := w.VerifyChain(t.Context(), w.target, ledger.Anchor{Hash: anchored.Hash})
	require.NoError(t, err)
	require.Empty(t, report.Problems)
	require.Equal(t, anchored.Seq, report.AnchorSeq)
	require.Equal(t, ledger.Seq(2), report.HeadSeq)
}

func TestTheSameFactInTwoChainsHasTwoHashes(t *testing.T) {
	t.Parallel()
	e := ledger.RecordedEntry{Kind: "decided", PrevHash: ledger.ZeroHash, PayloadSHA256: ledger.ZeroHash, OperationalSHA256: ledger.ZeroHash}
	e.Seq = 1
	one, err := ledger.HashEntry("app refs/heads/main", e)
	require.NoError(t, err)
	two, err := ledger.HashEntry("app refs/heads/next", e)
	require.NoError(t, err)
	require.NotEqual(t, one, two)
	// The text that is hashed, written out: keys sorted, no spaces, as RFC 8785 has it.
	require.Equal(t, ledger.SHA256([]byte(`{"created_at":"0001-01-01T00:00:00Z","kind":"decided","operational_sha256":"`+string(ledger.ZeroHash)+
		`","payload_sha256":"`+string(ledger.ZeroHash)+`","prev_hash":"`+string(ledger.ZeroHash)+
		`","seq":1,"target":"app refs/heads/main"}`)), one)
}
