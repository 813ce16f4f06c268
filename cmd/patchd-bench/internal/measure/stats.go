// Package measure holds what measurements share: samples of durations, memory of processes, and meters that say where the time of
// a decision goes.
package measure

import (
	"slices"
	"strconv"
	"time"
)

// Sample is a set of durations of one thing done many times.
type Sample []time.Duration

// Median is the middle duration, zero for an empty sample.
func (s Sample) Median() time.Duration { return s.Quantile(0.5) }

// Quantile is the smallest duration that at least the share q of the sample does not exceed (nearest rank).
func (s Sample) Quantile(q float64) time.Duration {
	if len(s) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(s))
	rank := int(q*float64(len(sorted))+0.999999) - 1
	return sorted[min(max(rank, 0), len(sorted)-1)]
}

// Mean is the average duration, zero for an empty sample.
func (s Sample) Mean() time.Duration {
	if len(s) == 0 {
		return 0
	}
	var sum time.Duration
	for _, d := range s {
		sum += d
	}
	return sum / time.Duration(len(s))
}

// Summary is a sample as it is reported.
type Summary struct {
	N        int     `json:"n"`
	MedianMS float64 `json:"median_ms"`
	P99MS    float64 `json:"p99_ms"`
	MeanMS   float64 `json:"mean_ms"`
}

// Summary reduces the sample.
func (s Sample) Summary() Summary {
	return Summary{len(s), Milliseconds(s.Median()), Milliseconds(s.Quantile(0.99)), Milliseconds(s.Mean())}
}

// Milliseconds gives a duration in milliseconds, to the microsecond.
func Milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// Ratio is how many times a holds b, zero where b is zero.
func Ratio(a, b time.Duration) float64 {
	if b == 0 {
		return 0
	}
	return float64(a) / float64(b)
}

// Format writes milliseconds with three significant digits or so.
func Format(ms float64) string {
	switch {
	case ms >= 100:
		return strconv.FormatFloat(ms, 'f', 0, 64)
	case ms >= 10:
		return strconv.FormatFloat(ms, 'f', 1, 64)
	}
	return strconv.FormatFloat(ms, 'f', 2, 64)
}
