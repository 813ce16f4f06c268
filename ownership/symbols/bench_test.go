package symbols

import (
	"os"
	"testing"
)

func BenchmarkOutline(b *testing.B) {
	f := os.Getenv("DUMP")
	text, err := os.ReadFile(f)
	if err != nil {
		b.Skip("no file")
	}
	p := NewInProcess(0)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		_, _ = p.Outlines(b.Context(), []Request{{Path: f, Text: text}})
	}
}
