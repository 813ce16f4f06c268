package symbols

import (
	"bytes"
	"context"
)

// DefaultMaxBytes is the size above which a file is read by lines only. It can reach a digest, so it is fixed.
const DefaultMaxBytes = 1 << 20

// InProcess outlines in the calling process. It is what a child runs; hostile text can end the process.
// It is not safe for concurrent use.
type InProcess struct {
	languages *Languages
	grammars  map[Language]*grammar
	maxBytes  int
}

// NewInProcess gives an outliner that parses in this process. maxBytes 0 means DefaultMaxBytes.
func NewInProcess(maxBytes int) *InProcess {
	if maxBytes <= 0 {
		maxBytes = DefaultMaxBytes
	}
	return &InProcess{languages: NewLanguages(), grammars: map[Language]*grammar{}, maxBytes: maxBytes}
}

var _ Outliner = (*InProcess)(nil)

// Outlines implements Outliner.
func (p *InProcess) Outlines(ctx context.Context, files []Request) ([]Result, error) {
	results := make([]Result, len(files))
	for i, f := range files {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		results[i] = p.outline(f)
	}
	return results, nil
}

func (p *InProcess) outline(f Request) Result {
	if why := refuse(p.languages, p.maxBytes, f); why != "" {
		return Result{Why: why}
	}
	t := p.languages.table(f.Path)
	g := p.grammars[t.language]
	if g == nil {
		g = newGrammar(*t)
		p.grammars[t.language] = g
	}
	o, err := outlineOf(g, f.Text)
	if err != nil {
		return Result{Why: WhyParseFailed}
	}
	return Result{Outline: o}
}

// refuse gives the reason for which a file is not parsed at all, or "".
func refuse(l *Languages, maxBytes int, f Request) Why {
	switch {
	case l.table(f.Path) == nil:
		return WhyNoGrammar
	case len(f.Text) > maxBytes:
		return WhyTooLarge
	case bytes.IndexByte(f.Text, 0) >= 0:
		return WhyNotText
	}
	return ""
}
