package repro

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"patchd/coordinator/service"
	"patchd/worktree/git"
)

// away is a coordinator that does not answer so many times.
type away struct {
	Coordinator
	times int
	code  service.ErrorCode
}

func (a *away) Quiet(context.Context, string, git.Ref) (Digest, error) {
	if a.times--; a.times >= 0 {
		return "", &service.Error{Code: a.code}
	}
	return "published", nil
}

func TestADatabaseThatIsAwayForAMomentEndsNoRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		published, err := patient{&away{times: 3, code: service.ErrUnavailable}}.Quiet(t.Context(), "", "")
		require.NoError(t, err)
		require.Equal(t, Digest("published"), published)
		_, err = patient{&away{times: 1, code: service.ErrStale}}.Quiet(t.Context(), "", "")
		require.Error(t, err, "anything else is an answer")
		_, err = patient{&away{times: 1000, code: service.ErrUnavailable}}.Quiet(t.Context(), "", "")
		require.Error(t, err, "and patience ends")
	})
}
