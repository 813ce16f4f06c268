package ledger_test

import (
	"context"
	"errors"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"patchd/coordinator/ledger"
	"patchd/coordinator/ledger/pgtest"
)

func TestAppendChainsEachEntryToTheOneBefore(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.append(t, "submitted", map[string]any{"b": 1, "a": "x"})
	second := w.append(t, "decided", map[string]any{})
	require.Equal(t, ledger.Seq(1), first.Seq)
	require.Equal(t, ledger.Seq(2), second.Seq)

	entries, err := w.Entries(t.Context(), w.target, 1, 10)
	require.NoError(t, err)
	require.Len(t, entries, 2)
	require.Equal(t, ledger.ZeroHash, entries[0].PrevHash)
	require.Equal(t, first.Hash, entries[1].PrevHash)
	require.Equal(t, ledger.SHA256([]byte(`{"a":"x","b":1}`)), entries[0].PayloadSHA256, "canonical JSON has sorted keys and no spaces")
	require.Equal(t, `{}`, string(entries[0].Operational))

	target, err := w.Target(t.Context(), w.target)
	require.NoError(t, err)
	require.Equal(t, second.Seq, target.Version)
	require.Equal(t, second.Hash, target.HeadHash)

	only, err := w.EntriesOfKinds(t.Context(), w.target, []ledger.Kind{"decided"}, 1, 10)
	require.NoError(t, err)
	require.Len(t, only, 1)
	one, err := w.EntryAt(t.Context(), w.target, 2)
	require.NoError(t, err)
	require.Equal(t, only[0], one)
}

func TestAppendRefusesWhatWasDecidedAgainstAnotherState(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	seen, err := w.Target(t.Context(), w.target)
	require.NoError(t, err)
	appendWith := func(x ledger.Expect) error {
		return w.locked(t.Context(), func(ctx context.Context, tx *ledger.Tx, target *ledger.Target) error {
			_, err := tx.Append(ctx, target, x, ledger.Entry{Kind: "decided", Payload: []byte(`{}`)})
			return err
		})
	}
	w.append(t, "submitted", map[string]any{})
	require.NoError(t, appendWith(ledger.SameInputs(seen)), "another patch's entry changes no input")

	var stale *ledger.StaleError
	require.ErrorAs(t, appendWith(ledger.At(seen)), &stale)
	require.Equal(t, "version", stale.MovedWhat)

	require.NoError(t, w.locked(t.Context(), func(ctx context.Context, tx *ledger.Tx, target *ledger.Target) error {
		_, err := tx.Append(ctx, target, ledger.Anything(), ledger.Entry{Kind: "resolved", Payload: []byte(`{}`), Inputs: true})
		return err
	}))
	require.ErrorAs(t, appendWith(ledger.SameInputs(seen)), &stale)
	require.Equal(t, "inputs", stale.MovedWhat)

	require.NoError(t, w.locked(t.Context(), func(ctx context.Context, tx *ledger.Tx, target *ledger.Target) error {
		_, _, err := tx.MoveTarget(ctx, target, ledger.At(*target), oid(7), ledger.Entry{Payload: []byte(`{}`)})
		return err
	}))
	require.ErrorAs(t, appendWith(ledger.SameInputs(seen)), &stale)
	require.Equal(t, "commit", stale.MovedWhat)
	require.Equal(t, oid(7), stale.Commit)
}

func TestAppendNeedsTheLockOfThisTransaction(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	unlocked, err := w.Target(t.Context(), w.target)
	require.NoError(t, err)
	var earlier *ledger.Target
	require.NoError(t, w.locked(t.Context(), func(_ context.Context, _ *ledger.Tx, target *ledger.Target) error {
		earlier = target
		return nil
	}))
	for _, target := range []*ledger.Target{&unlocked, earlier} {
		err := w.InTx(t.Context(), func(ctx context.Context, tx *ledger.Tx) error {
			_, err := tx.Append(ctx, target, ledger.Anything(), ledger.Entry{Kind: "decided", Payload: []byte(`{}`)})
			return err
		})
		require.ErrorIs(t, err, ledger.ErrNotLocked)
	}
}

func TestAppendRefusesAPayloadThatIsNotJSON(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	err := w.locked(t.Context(), func(ctx context.Context, tx *ledger.Tx, target *ledger.Target) error {
		_, err := tx.Append(ctx, target, ledger.Anything(), ledger.Entry{Kind: "decided", Payload: []byte(`{`)})
		return err
	})
	require.ErrorContains(t, err, "not JSON")
}

func TestSeveralEntriesAppendedAtOnceAreOneChain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var refs []ledger.EntryRef
	require.NoError(t, w.locked(t.Context(), func(ctx context.Context, tx *ledger.Tx, target *ledger.Target) (err error) {
		refs, err = tx.AppendAll(ctx, target, ledger.At(*target),
			ledger.Entry{Kind: "decided", Payload: []byte(`{"n":1}`)},
			ledger.Entry{Kind: "landed", Payload: []byte(`{"n":2}`), Inputs: true, Commit: oid(5)},
			ledger.Entry{Kind: "decided", Payload: []byte(`{"n":3}`)})
		return err
	}))
	require.Len(t, refs, 3)
	target, err := w.Target(t.Context(), w.target)
	require.NoError(t, err)
	require.Equal(t, refs[2].Hash, target.HeadHash)
	require.Equal(t, refs[1].Seq, target.Inputs)
	require.Equal(t, oid(5), target.Commit)
	report, err := w.VerifyChain(t.Context(), w.target, ledger.Anchor{Hash: refs[1].Hash})
	require.NoError(t, err)
	require.Empty(t, report.Problems)
	found, ok, err := w.EntryByHash(t.Context(), w.target, refs[1].Hash)
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, refs[1].Seq, found.Seq)
	_, ok, err = w.EntryByHash(t.Context(), w.target, ledger.ZeroHash)
	require.NoError(t, err)
	require.False(t, ok)
}

func TestConcurrentAppendsKeepOneChain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const writers, each = 8, 25
	var group errgroup.Group
	for writer := range writers {
		group.Go(func() error {
			for i := range each {
				err := w.locked(t.Context(), func(ctx context.Context, tx *ledger.Tx, target *ledger.Target) error {
					payload := []byte(`{"writer":` + strconv.Itoa(writer) + `,"i":` + strconv.Itoa(i) + `}`)
					_, err := tx.Append(ctx, target, ledger.At(*target), ledger.Entry{Kind: "decided", Payload: payload})
					return err
				})
				if err != nil {
					return err
				}
			}
			return nil
		})
	}
	require.NoError(t, group.Wait())
	report, err := w.VerifyChain(t.Context(), w.target, ledger.Anchor{})
	require.NoError(t, err)
	require.Empty(t, report.Problems)
	require.Equal(t, int64(writers*each), report.Entries)
}

func TestAFailedTransactionLeavesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	failure := errors.New("no")
	err := w.locked(t.Context(), func(ctx context.Context, tx *ledger.Tx, target *ledger.Target) error {
		if err := admit(ctx, tx, target, 1, 1); err != nil {
			return err
		}
		return failure
	})
	require.ErrorIs(t, err, failure)
	pending, err := w.PendingPatches(t.Context(), w.target)
	require.NoError(t, err)
	require.Empty(t, pending)
	entries, err := w.Entries(t.Context(), w.target, 1, 10)
	require.NoError(t, err)
	require.Empty(t, entries)
}

func TestADeadlockIsRetriedUntilBothTransactionsCommit(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var other ledger.TargetID
	require.NoError(t, w.InTx(t.Context(), func(ctx context.Context, tx *ledger.Tx) error {
		target, err := tx.EnsureTarget(ctx, w.repository, "refs/heads/other")
		other = target.ID
		return err
	}))
	var group errgroup.Group
	firstLocked := make(chan struct{}, 2)
	meet := make(chan struct{})
	cross := func(one, two ledger.TargetID) error {
		tries := 0
		return w.InTx(t.Context(), func(ctx context.Context, tx *ledger.Tx) error {
			tries++
			if _, err := tx.LockTarget(ctx, one); err != nil {
				return err
			}
			if tries == 1 {
				firstLocked <- struct{}{}
				<-meet
			}
			_, err := tx.LockTarget(ctx, two)
			return err
		})
	}
	group.Go(func() error { return cross(w.target, other) })
	group.Go(func() error { return cross(other, w.target) })
	<-firstLocked
	<-firstLocked
	close(meet)
	require.NoError(t, group.Wait())
}

func TestListenersHearOfEachCommittedEntryInOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	heard := make(chan ledger.Notification, 16)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- w.Listen(ctx, func(n ledger.Notification) error {
			heard <- n
			return nil
		})
	}()
	require.Equal(t, ledger.Notification{}, <-heard, "listening has begun: look again")
	w.append(t, "submitted", map[string]any{})
	w.append(t, "decided", map[string]any{})
	require.Equal(t, ledger.Notification{Target: w.target, Seq: 1, Kind: "submitted"}, <-heard)
	require.Equal(t, ledger.Notification{Target: w.target, Seq: 2, Kind: "decided"}, <-heard)
	cancel()
	require.ErrorIs(t, <-done, context.Canceled)
}

func TestAcknowledgedEntriesSurviveAKilledServer(t *testing.T) {
	t.Parallel()
	server, dsn := pgtest.Server(t)
	store, err := ledger.Open(t.Context(), dsn, ledger.Options{Clock: stepping()})
	require.NoError(t, err)
	t.Cleanup(store.Close)
	w := worldIn(t, store)

	acknowledged := make(chan ledger.EntryRef, 100000)
	enough := make(chan struct{})
	var group errgroup.Group
	group.Go(func() error { // writes until the server dies under it
		defer close(acknowledged)
		for i := 0; ; i++ {
			var ref ledger.EntryRef
			err := w.locked(t.Context(), func(ctx context.Context, tx *ledger.Tx, target *ledger.Target) (err error) {
				ref, err = tx.Append(ctx, target, ledger.Anything(), ledger.Entry{Kind: "decided", Payload: []byte(`{}`)})
				return err
			})
			if err != nil {
				return nil // the crash is what the test is about
			}
			acknowledged <- ref
			if i == 50 {
				close(enough)
			}
		}
	})
	<-enough
	require.NoError(t, server.Crash(t.Context()))
	require.NoError(t, group.Wait())
	require.NoError(t, server.Restart(t.Context()))

	var last ledger.EntryRef
	for ref := range acknowledged {
		last = ref
	}
	require.Eventually(t, func() bool { return store.Ping(t.Context()) == nil }, pingFor, pingEvery)
	entry, err := store.EntryAt(t.Context(), w.target, last.Seq)
	require.NoError(t, err)
	require.Equal(t, last.Hash, entry.Hash)
	report, err := store.VerifyChain(t.Context(), w.target, ledger.Anchor{Hash: last.Hash})
	require.NoError(t, err)
	require.Empty(t, report.Problems)
	require.Equal(t, last.Seq, report.AnchorSeq)
}
