package sandbox_test

import (
	"testing"

	"patchd/checks/sandbox"

	"github.com/stretchr/testify/require"
)

func TestEveryLevelSaysWhetherItWorksAndWhyNot(t *testing.T) {
	t.Parallel()
	caps, err := sandbox.Probe(t.Context(), options(t))
	require.NoError(t, err)
	require.Len(t, caps.Levels, len(sandbox.Levels()))
	for _, r := range caps.Levels {
		t.Logf("%s available=%v %s", r.Level, r.Available, r.Reason)
		require.Equal(t, r.Available, r.Reason == "")
	}
	require.True(t, caps.Available(sandbox.Unconfined))
}
