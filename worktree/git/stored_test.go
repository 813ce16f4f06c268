package git

import (
	"bytes"
	"compress/zlib"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
)

// A stored block holds at most 65,535 bytes, so sizes around its multiples are where a stream could break.
func TestStoredStreamsInflateToWhatWasStored(t *testing.T) {
	t.Parallel()
	for _, size := range []int{0, 1, 65534, 65535, 65536, 2 * 65535, 2*65535 + 1, 1 << 20} {
		data := bytes.Repeat([]byte("0123456789\n"), size/11+1)[:size]
		var b bytes.Buffer
		writeStored(&b, data)
		r, err := zlib.NewReader(&b)
		require.NoError(t, err)
		got, err := io.ReadAll(r)
		require.NoError(t, err, "size %d", size)
		require.True(t, bytes.Equal(data, got), "size %d", size)
		require.Zero(t, b.Len(), "nothing follows the stream of %d bytes", size)
	}
}
