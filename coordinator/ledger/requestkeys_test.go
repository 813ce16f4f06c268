package ledger_test

import (
	"context"
	"errors"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"patchd/coordinator/ledger"
)

func digest(text string) ledger.Digest { return ledger.SHA256([]byte(text)) }

func TestOfManyClaimsOfOneKeyAtOnceOneIsRecorded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var first, repeated atomic.Int64
	var winner atomic.Value
	var group errgroup.Group
	for i := range 8 {
		group.Go(func() error {
			return w.InTx(t.Context(), func(ctx context.Context, tx *ledger.Tx) error {
				answer := []byte(strconv.Itoa(i))
				recorded, again, err := tx.ClaimRequestKey(ctx, ledger.RequestKey{
					Credential: "owner", Repository: w.repository, Key: "k", Fingerprint: digest("content"), Answer: answer,
				})
				if again {
					repeated.Add(1)
				} else {
					first.Add(1)
					winner.Store(string(recorded.Answer))
				}
				return err
			})
		})
	}
	require.NoError(t, group.Wait())
	require.Equal(t, int64(1), first.Load())
	require.Equal(t, int64(7), repeated.Load())
	recorded, found, err := w.RequestKey(t.Context(), "owner", w.repository, "k")
	require.NoError(t, err)
	require.True(t, found)
	require.Equal(t, winner.Load(), string(recorded.Answer))
}

func TestAKeyUsedWithOtherContentIsAConflict(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	claim := func(credential, content string) error {
		return w.InTx(t.Context(), func(ctx context.Context, tx *ledger.Tx) error {
			_, _, err := tx.ClaimRequestKey(ctx, ledger.RequestKey{
				Credential: credential, Repository: w.repository, Key: "k", Fingerprint: digest(content), Answer: []byte("{}"),
			})
			return err
		})
	}
	require.NoError(t, claim("a", "one"))
	require.NoError(t, claim("b", "two"), "keys are scoped to the credential")
	var conflict *ledger.RequestKeyConflictError
	require.ErrorAs(t, claim("a", "two"), &conflict)
	require.Equal(t, digest("one"), conflict.Recorded)
}

func TestAClaimThatRolledBackLeavesTheKeyFree(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	failure := errors.New("no")
	key := ledger.RequestKey{Credential: "a", Repository: w.repository, Key: "k", Fingerprint: digest("x"), Answer: []byte("{}")}
	err := w.InTx(t.Context(), func(ctx context.Context, tx *ledger.Tx) error {
		_, _, err := tx.ClaimRequestKey(ctx, key)
		require.NoError(t, err)
		return failure
	})
	require.ErrorIs(t, err, failure)
	_, found, err := w.RequestKey(t.Context(), "a", w.repository, "k")
	require.NoError(t, err)
	require.False(t, found)
}

func TestOfManyRequestsOfOneKeyAtOnceOneDoesTheWork(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var group errgroup.Group
	for i := range 8 {
		group.Go(func() error {
			return w.InTx(t.Context(), func(ctx context.Context, tx *ledger.Tx) error {
				_, found, err := tx.LockRequestKey(ctx, "owner", w.repository, "k")
				if err != nil || found {
					return err
				}
				target, err := tx.LockTarget(ctx, w.target)
				if err != nil {
					return err
				}
				if err := admit(ctx, tx, target, 1, i); err != nil {
					return err
				}
				_, again, err := tx.ClaimRequestKey(ctx, ledger.RequestKey{
					Credential: "owner", Repository: w.repository, Key: "k", Fingerprint: digest("c"),
					Submission: submissionID(i), Answer: []byte("{}"),
				})
				require.False(t, again)
				return err
			})
		})
	}
	require.NoError(t, group.Wait())
	list, err := w.Submissions(t.Context(), w.target, identity(1))
	require.NoError(t, err)
	require.Len(t, list, 1)
	attempts, err := w.ListAttempts(t.Context(), w.target, identity(1), 0, 10)
	require.NoError(t, err)
	require.Len(t, attempts, 1)
}
