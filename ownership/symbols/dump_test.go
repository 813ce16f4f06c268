package symbols

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"
)

func TestDump(t *testing.T) {
	f := os.Getenv("DUMP")
	if f == "" {
		t.Skip()
	}
	text, _ := os.ReadFile(f)
	p := NewInProcess(0)
	r, err := p.Outlines(context.Background(), []Request{{Path: f, Text: text}})
	fmt.Println(err, r[0].Why)
	o := r[0].Outline
	if o == nil {
		return
	}
	for _, s := range o.Symbols {
		fmt.Printf("%-10s %-40s #%d p%d %v name=%d head=%v body=%v tok=%d params=%q\n", s.Kind, s.Path, s.Ordinal, s.Parent, s.Lines, s.NameLine, s.Header, s.Body, s.Tokens, s.Params)
	}
	fmt.Println("errors", o.Errors, "statements", len(o.Statements), "uses", len(o.Uses), "imports", o.Imports, "supers", o.Supers)
	if os.Getenv("USES") != "" {
		for _, u := range o.Uses {
			q := ""
			if u.Qualifier >= 0 {
				q = o.Names[u.Qualifier] + "."
			}
			fmt.Printf("%d %s%s kind=%b args=%d sym=%d\n", u.Line, q, o.Names[u.Name], u.Kind, u.Args, u.Symbol)
		}
	}
	start := time.Now()
	for range 20 {
		p.Outlines(context.Background(), []Request{{Path: f, Text: text}})
	}
	fmt.Println("time", time.Since(start)/20, len(text), o.Total)
}
