package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// emit prints the document, or what text writes for people.
func (b *bench) emit(document any, text func(w io.Writer)) error {
	if !b.json {
		text(b.stdout)
		return nil
	}
	enc := json.NewEncoder(b.stdout)
	enc.SetIndent("", "  ")
	if err := enc.Encode(document); err != nil {
		return fmt.Errorf("write document: %w", err)
	}
	return nil
}

// say tells people how the work goes on.
func (b *bench) say(format string, args ...any) {
	_, _ = fmt.Fprintf(b.stderr, format+"\n", args...) // a closed stderr must not stop the work
}

// table writes aligned columns, the first row being the heads.
func table(w io.Writer, rows [][]string) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		_, _ = fmt.Fprintln(t, strings.Join(row, "\t"))
	}
	_ = t.Flush()
}

func line(w io.Writer, format string, args ...any) { _, _ = fmt.Fprintf(w, format+"\n", args...) }

func mib(bytes int64) string { return fmt.Sprintf("%.0f MiB", float64(bytes)/(1<<20)) }

func percent(part, whole int) string {
	if whole == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f %%", 100*float64(part)/float64(whole))
}
