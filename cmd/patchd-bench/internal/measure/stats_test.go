package measure_test

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"patchd/cmd/patchd-bench/internal/measure"
)

func TestQuantilesAreOfTheNearestRank(t *testing.T) {
	t.Parallel()
	var s measure.Sample
	require.Zero(t, s.Median())
	for i := 100; i > 0; i-- {
		s = append(s, time.Duration(i)*time.Millisecond)
	}
	require.Equal(t, 50*time.Millisecond, s.Median())
	require.Equal(t, 99*time.Millisecond, s.Quantile(0.99))
	require.Equal(t, 100*time.Millisecond, s.Quantile(1))
	require.Equal(t, time.Millisecond, s.Quantile(0))
	require.Equal(t, 100*time.Millisecond, s[0], "the sample keeps its order")
	require.Equal(t, 50500*time.Microsecond, s.Mean())
	require.Equal(t, time.Second, measure.Sample{time.Second}.Median())
}

func TestMemoryIsReadAndItsPeakReset(t *testing.T) {
	t.Parallel()
	m, err := measure.MemoryOf(os.Getpid())
	require.NoError(t, err)
	require.Positive(t, m.Resident)
	require.GreaterOrEqual(t, m.Peak, m.Resident/2)
	require.NoError(t, measure.ResetPeak(os.Getpid()))
	_, err = measure.MemoryOf(1 << 30)
	require.Error(t, err)
}
