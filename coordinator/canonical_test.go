package coordinator

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCanonicalJSONIsRFC8785(t *testing.T) {
	t.Parallel()
	// The expected bytes follow RFC 8785: members in the order of UTF-16 code units, no white space, shortest numbers, and only
	// the escapes that section 3.2.2.2 names.
	got, err := Canonical(map[string]any{"b": 1.0, "a": "x\n<é€", "\u20ac": []any{true, nil, 1e21}, "A": map[string]any{}})
	require.NoError(t, err)
	require.Equal(t, "{\"A\":{},\"a\":\"x\\n<é€\",\"b\":1,\"€\":[true,null,1e+21]}", string(got)) //nolint:testifylint // byte for byte is the point
}

func TestEveryCodeHasOneOutcome(t *testing.T) {
	t.Parallel()
	for code, want := range map[Code]Outcome{
		CodeDiffMalformed: OutcomeRejected, CodeDigestMismatch: OutcomeRejected, CodeAlreadyLanded: OutcomeWaiting,
		CodeSameLines: OutcomeConflict, CodeCoupledEdits: OutcomeConflict, CodeOwnerApproval: OutcomeConflict,
	} {
		got, err := OutcomeOf(code)
		require.NoError(t, err)
		require.Equal(t, want, got, code)
	}
	_, err := OutcomeOf("no_such_code")
	require.Error(t, err)
}
