package ledger_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"patchd/coordinator/ledger"
	"patchd/coordinator/ledger/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// stepping is a clock that goes on by a second with each look.
func stepping() func() time.Time {
	var looks atomic.Int64
	return func() time.Time {
		return time.Date(2026, 1, 2, 3, 4, 5, 678912345, time.UTC).Add(time.Duration(looks.Add(1)) * time.Second)
	}
}

func oid(n int) ledger.OID { return ledger.OID(fmt.Sprintf("%040x", n)) }

func identity(n int) ledger.Identity { return ledger.Identity(fmt.Sprintf("%064x", n)) }

func submissionID(n int) ledger.SubmissionID {
	return ledger.SubmissionID(fmt.Sprintf("01900000-0000-7000-8000-%012x", n))
}

// world is a store with one repository and target.
type world struct {
	*ledger.Store
	repository ledger.RepositoryID
	target     ledger.TargetID
}

func newWorld(t *testing.T) world {
	t.Helper()
	return worldIn(t, pgtest.Open(t, stepping()))
}

func worldIn(t *testing.T, store *ledger.Store) world {
	t.Helper()
	w := world{Store: store}
	require.NoError(t, store.InTx(t.Context(), func(ctx context.Context, tx *ledger.Tx) error {
		repository, err := tx.EnsureRepository(ctx, "app", "/srv/app.git")
		if err != nil {
			return err
		}
		target, err := tx.EnsureTarget(ctx, repository.ID, "refs/heads/main")
		w.repository, w.target = repository.ID, target.ID
		return err
	}))
	return w
}

// locked runs do with the target locked.
func (w world) locked(ctx context.Context, do func(context.Context, *ledger.Tx, *ledger.Target) error) error {
	return w.InTx(ctx, func(ctx context.Context, tx *ledger.Tx) error {
		target, err := tx.LockTarget(ctx, w.target)
		if err != nil {
			return err
		}
		return do(ctx, tx, target)
	})
}

func (w world) append(t *testing.T, kind ledger.Kind, payload any) ledger.EntryRef {
	t.Helper()
	var ref ledger.EntryRef
	require.NoError(t, w.locked(t.Context(), func(ctx context.Context, tx *ledger.Tx, target *ledger.Target) error {
		raw, err := ledger.Canonical(payload)
		if err != nil {
			return err
		}
		ref, err = tx.Append(ctx, target, ledger.Anything(), ledger.Entry{Kind: kind, Payload: raw})
		return err
	}))
	return ref
}

// admit lets patch n stand once more, as its submission number id.
func (w world) admit(t *testing.T, n, id int) {
	t.Helper()
	require.NoError(t, w.locked(t.Context(), func(ctx context.Context, tx *ledger.Tx, target *ledger.Target) error {
		return admit(ctx, tx, target, n, id)
	}))
}

func admit(ctx context.Context, tx *ledger.Tx, target *ledger.Target, n, id int) error {
	diff, err := tx.PutContent(ctx, fmt.Appendf(nil, "diff %d", n))
	if err != nil {
		return err
	}
	attempt, err := tx.RecordAttempt(ctx, ledger.Attempt{
		Target: target.ID, Submission: submissionID(id), Tool: "cli", Credential: "owner", PatchID: "p",
		Identity: identity(n), Result: ledger.Result{Stage: "precondition_guard", Outcome: "pending"},
	})
	if err != nil {
		return err
	}
	entry, err := tx.Append(ctx, target, ledger.Anything(), ledger.Entry{Kind: "submitted", Payload: []byte(`{}`)})
	if err != nil {
		return err
	}
	return tx.RecordSubmission(ctx, entry.Seq, ledger.Submission{
		ID: submissionID(id), Target: target.ID, Attempt: attempt, Identity: identity(n), PatchID: fmt.Sprintf("p-%d", n),
		Base: oid(1), Manifest: []byte(`{}`), Diff: diff, Credential: "owner", OnConflict: "fail",
	}, nil, nil)
}

func jsonOf(t *testing.T, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	require.NoError(t, err)
	return string(raw)
}

const (
	pingFor   = 20 * time.Second
	pingEvery = 10 * time.Millisecond
)
