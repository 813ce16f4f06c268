package ownership

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"

	"patchd/ownership/symbols"
)

// SameSymbol says what two edits of one symbol, apart in lines, mean.
type SameSymbol string

// The values of the policy's ownership.same_symbol.
const (
	SameSymbolReview    SameSymbol = "review"
	SameSymbolDependent SameSymbol = "dependent"
	SameSymbolAllow     SameSymbol = "allow"
)

// Input is two changes to one base. Files are all paths that either side touched and whose texts are known; a
// file that one side alone touched matters for what the other side refers to.
type Input struct {
	Files []File
	// LeftOwned and RightOwned are the hunks that the sides declared.
	LeftOwned, RightOwned []Hunk
	// LeftName and RightName are what a Detail calls the sides, for example "the patch" and "the target".
	LeftName, RightName string
	// SameSymbol is the policy; empty means review.
	SameSymbol SameSymbol
	// ReviewCoupled makes coupled edits reasons; they are listed under Coupled all the same.
	ReviewCoupled bool
}

// Classify compares two changes to one base by their symbols. Swapping the sides swaps what the reasons say of
// left and right and changes nothing else. The error is the outliner's: nothing could be outlined at all.
func Classify(ctx context.Context, outliner symbols.Outliner, in Input) (*Result, error) {
	c, err := newComparison(ctx, outliner, in)
	if err != nil {
		return nil, err
	}
	c.structure()
	for i, p := range c.pairs {
		c.sameSymbol(i, p)
		c.ownedRanges(p)
	}
	c.out.Reasons = sortReasons(c.out.Reasons)
	slices.SortFunc(c.out.Degraded, func(a, b Degraded) int { return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Why, b.Why)) })
	c.out.Degraded = slices.CompactFunc(c.out.Degraded, func(a, b Degraded) bool { return a.Path == b.Path })
	return c.out, nil
}

// structure compares what the sides did to symbols as a whole, across files.
func (c *comparison) structure() {
	var left, right []*change
	var degraded []bool
	for _, p := range c.pairs {
		left, right, degraded = append(left, p.l), append(right, p.r), append(degraded, p.degraded)
	}
	c.left, c.right = newSide(c.in.LeftName, left, degraded), newSide(c.in.RightName, right, degraded)
	for _, x := range [][2]*side{{c.left, c.right}, {c.right, c.left}} {
		c.fates(x[0], x[1])
		c.newReferences(x[0], x[1])
		c.brokenImports(x[0], x[1])
	}
	c.duplicates()
	c.coupled()
}

// comparison is one run of Classify.
type comparison struct {
	in          Input
	pairs       []*filePair
	left, right *side
	out         *Result
}

// filePair is one file with both sides' changes.
type filePair struct {
	file              *File
	path              string
	base, left, right *view
	l, r              *change
	// degraded says that symbols do not count here.
	degraded bool
}

func newComparison(ctx context.Context, outliner symbols.Outliner, in Input) (*comparison, error) {
	in.LeftName, in.RightName = cmp.Or(in.LeftName, "one side"), cmp.Or(in.RightName, "the other side")
	in.SameSymbol = cmp.Or(in.SameSymbol, SameSymbolReview)
	c := &comparison{in: in, out: &Result{}}
	views, err := outlineAll(ctx, outliner, in.Files)
	if err != nil {
		return nil, err
	}
	for i := range in.Files {
		f := &in.Files[i]
		p := &filePair{file: f, path: f.path(), base: views[i][0], left: views[i][1], right: views[i][2]}
		left, right := dropAlike(f, p.left, p.right)
		p.l, p.r = newChange(p.base, p.left, left), newChange(p.base, p.right, right)
		if f.Base == nil && f.Left != nil && f.Right != nil && bytes.Equal(f.Left.Text, f.Right.Text) {
			p.l, p.r = newChange(nil, nil, nil), newChange(nil, nil, nil) // one addition on both sides
		}
		c.degrade(p, views[i])
		c.pairs = append(c.pairs, p)
	}
	slices.SortFunc(c.pairs, func(a, b *filePair) int { return cmp.Compare(a.path, b.path) })
	return c, nil
}

// outlineAll asks for the outlines of all versions at once. Equal versions are asked for once.
func outlineAll(ctx context.Context, outliner symbols.Outliner, files []File) ([][3]*view, error) {
	type key struct{ path, blob string }
	var requests []symbols.Request
	index := map[key]int{}
	ask := func(v *Version) int {
		if v == nil {
			return -1
		}
		k := key{v.Path, v.Blob}
		if at, ok := index[k]; ok && v.Blob != "" {
			return at
		}
		requests = append(requests, symbols.Request{Path: v.Path, Blob: v.Blob, Text: v.Text})
		index[k] = len(requests) - 1
		return len(requests) - 1
	}
	asked := make([][3]int, len(files))
	for i, f := range files {
		asked[i] = [3]int{ask(f.Base), ask(f.Left), ask(f.Right)}
	}
	results, err := outliner.Outlines(ctx, requests)
	if err != nil {
		return nil, fmt.Errorf("outline files: %w", err)
	}
	views := make([][3]*view, len(files))
	for i, f := range files {
		for k, v := range []*Version{f.Base, f.Left, f.Right} {
			if v != nil {
				views[i][k] = newView(v, results[asked[i][k]])
			}
		}
	}
	return views, nil
}

// degrade notes a file whose symbols cannot be told where the sides changed it.
func (c *comparison) degrade(p *filePair, views [3]*view) {
	for _, v := range views {
		if v != nil && v.outline == nil {
			p.degraded = true
			c.out.Degraded = append(c.out.Degraded, Degraded{p.path, v.why})
			return
		}
	}
	for _, ch := range []*change{p.l, p.r} {
		for _, e := range ch.edits {
			if ch.brokenAt(e.Edit) {
				p.degraded = true
				c.out.Degraded = append(c.out.Degraded, Degraded{p.path, symbols.WhySyntaxError})
				return
			}
		}
	}
}

// brokenAt reports whether a syntax error touches the edit, before or after it.
func (c *change) brokenAt(e Edit) bool {
	return c.base.broken(e.base()) || c.result.broken(e.result())
}

// broken reports whether an error touches the lines or their neighbours. An insertion or deletion leaves an empty
// range, of which the two neighbours are looked at.
func (v *view) broken(l symbols.Lines) bool {
	if v == nil || v.outline == nil {
		return false
	}
	return v.outline.Broken(symbols.Lines{Start: l.Start - 1, End: max(l.End, l.Start-1) + 1})
}

func (c *comparison) add(r Reason) { c.out.Reasons = append(c.out.Reasons, r) }
