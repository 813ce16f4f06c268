//nolint:gosec // G115: counts and offsets stay below the size cap of a file
package symbols

import (
	"slices"
	"sort"
)

// token is one word of the text that is no comment.
type token struct {
	start uint32
	end   uint32
	hash  uint32
}

// tokens reads the leaves of the tree, literals as a whole, and what no leaf covers.
func (t *tree) tokens() []token {
	list := make([]token, 0, len(t.nodes)/2)
	covered := uint32(0)
	for i := int32(0); int(i) < len(t.nodes); i++ {
		n := &t.nodes[i]
		in := t.g.info(n.sym)
		if n.first >= 0 && !in.literal && !in.comment || n.start == n.end {
			continue
		}
		list = t.gap(list, covered, n.start)
		covered = max(covered, n.end)
		i = n.last
		if !in.comment || t.g.isDirective(t.text[n.start:n.end]) {
			list = t.gap(list, n.start, n.end)
		}
	}
	return t.gap(list, covered, uint32(len(t.text)))
}

// gap adds a range of the text as one token, unless it is only spacing.
func (t *tree) gap(list []token, start, end uint32) []token {
	if start, end = t.trim(start, end); start >= end {
		return list
	}
	return append(list, token{start, end, hashBytes(t.text[start:end])})
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' }

func hashBytes(b []byte) uint32 {
	h := uint32(2166136261)
	for _, c := range b {
		if c != '\r' {
			h = (h ^ uint32(c)) * 16777619
		}
	}
	return h
}

const (
	maskedName = 0x6e616d65
	runLength  = 3
	// shapeSize is how many of the smallest hashes a sketch keeps; the error of the similarity is about 1/√shapeSize.
	shapeSize = 64
)

// between gives the tokens of a range of the text with the own name masked.
func between(tokens []token, start, end, own uint32) []uint32 {
	from := sort.Search(len(tokens), func(i int) bool { return tokens[i].start >= start })
	var hashes []uint32
	for _, k := range tokens[from:] {
		if k.start >= end {
			break
		}
		h := k.hash
		if h == own {
			h = maskedName
		}
		hashes = append(hashes, h)
	}
	return hashes
}

func fold(hashes []uint32) uint64 {
	sum := uint64(fnvOffset)
	for _, h := range hashes {
		sum = (sum ^ uint64(h)) * fnvPrime
	}
	return sum | 1
}

// sketch keeps the smallest hashes of all runs of three tokens (bottom-k MinHash, Broder 1997).
func sketch(hashes []uint32) []uint32 {
	if len(hashes) == 0 {
		return nil
	}
	runs := make([]uint32, 0, len(hashes))
	for i := range hashes {
		end := min(i+runLength, len(hashes))
		if i > 0 && end-i < runLength {
			break
		}
		sum := uint64(fnvOffset)
		for _, h := range hashes[i:end] {
			sum = (sum ^ uint64(h)) * fnvPrime
		}
		sum ^= sum >> 29
		sum *= 0xbf58476d1ce4e5b9
		runs = append(runs, uint32(sum>>32))
	}
	slices.Sort(runs)
	runs = slices.Compact(runs)
	return slices.Clone(runs[:min(len(runs), shapeSize)])
}

// Similarity estimates the share of token runs that two bodies have in common, from 0 to 1 (Jaccard index).
func Similarity(a, b []uint32) float64 {
	if len(a) == 0 || len(b) == 0 {
		return 0
	}
	limit := len(a) + len(b)
	if len(a) >= shapeSize || len(b) >= shapeSize {
		limit = shapeSize // a sketch says nothing about hashes beyond the smallest ones
	}
	shared, seen := 0, 0
	for i, j := 0, 0; seen < limit && (i < len(a) || j < len(b)); seen++ {
		switch {
		case j >= len(b) || i < len(a) && a[i] < b[j]:
			i++
		case i >= len(a) || b[j] < a[i]:
			j++
		default:
			shared++
			i++
			j++
		}
	}
	return float64(shared) / float64(seen)
}
