package worktree

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"patchd/worktree/diff"
	"patchd/worktree/git"
)

// Rename detection, ours and deterministic, in the manner of git: a deleted file and an added one of the same
// object id are one file renamed; of the others, the pairs that share at least half of the larger file's bytes,
// counted in lines or in chunks of 64 bytes, best first. Empty files are never renames.

const (
	// maxScore is the score of equal contents; minScore is what makes a rename (50 %).
	maxScore, minScore = 60000, 30000
	// renameLimit bounds the files on either side whose contents are compared, as merge.renameLimit does.
	renameLimit = 1000
	// emptyBlob is the id of the empty file.
	emptyBlob git.OID = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"
)

// renamed is one detected rename.
type renamed struct {
	old, new git.Change
	score    int
}

func (m renamed) percent() int { return m.score * 100 / maxScore }

// findRenames pairs deletions with additions. all is the whole difference: an addition that is byte for byte
// another of its deletions is left to that one.
func findRenames(ctx context.Context, r git.Reader, gone, made, all []git.Change) ([]renamed, error) {
	if len(gone) == 0 || len(made) == 0 {
		return nil, nil
	}
	found, gone, made := exactRenames(gone, made)
	made = withoutExact(gone, made, all)
	if len(gone) == 0 || len(made) == 0 || len(gone) > renameLimit || len(made) > renameLimit {
		return found, nil
	}
	similar, err := similarRenames(ctx, r, gone, made)
	return append(found, similar...), err
}

// renameable reports whether git would consider an entry for a rename.
func renameable(e git.Entry) bool {
	return (e.Mode.IsFile() || e.Mode == git.ModeSymlink) && e.OID != emptyBlob
}

// exactRenames pairs equal contents, files of equal name first, then by path, and gives what is left.
func exactRenames(gone, made []git.Change) (found []renamed, restGone, restMade []git.Change) {
	byID := map[git.OID][]git.Change{}
	for _, c := range made {
		if renameable(c.New) {
			byID[c.New.OID] = append(byID[c.New.OID], c)
		}
	}
	used := map[string]bool{}
	for _, sameName := range []bool{true, false} {
		for _, c := range gone {
			if used["-"+c.Path] || !renameable(c.Old) {
				continue
			}
			for _, to := range byID[c.Old.OID] {
				if used["+"+to.Path] || sameName && path.Base(to.Path) != path.Base(c.Path) || kind(to.New.Mode) != kind(c.Old.Mode) {
					continue
				}
				used["-"+c.Path], used["+"+to.Path] = true, true
				found = append(found, renamed{old: c, new: to, score: maxScore})
				break
			}
		}
	}
	return found, slices.DeleteFunc(slices.Clone(gone), func(c git.Change) bool { return used["-"+c.Path] }),
		slices.DeleteFunc(slices.Clone(made), func(c git.Change) bool { return used["+"+c.Path] })
}

// withoutExact leaves out additions that equal a deletion which is not among those asked for.
func withoutExact(gone, made, all []git.Change) []git.Change {
	if len(gone) == 0 || len(made) == 0 {
		return nil
	}
	asked := map[string]bool{}
	for _, c := range gone {
		asked[c.Path] = true
	}
	others := map[git.OID]bool{}
	for _, c := range all {
		if c.New.IsZero() && !asked[c.Path] && renameable(c.Old) {
			others[c.Old.OID] = true
		}
	}
	return slices.DeleteFunc(made, func(c git.Change) bool { return others[c.New.OID] })
}

// similarRenames pairs the most similar contents first; ties go to equal names, then to the smaller paths.
func similarRenames(ctx context.Context, r git.Reader, gone, made []git.Change) ([]renamed, error) {
	from, err := spectra(ctx, r, gone, func(c git.Change) git.Entry { return c.Old })
	if err != nil {
		return nil, err
	}
	to, err := spectra(ctx, r, made, func(c git.Change) git.Entry { return c.New })
	if err != nil {
		return nil, err
	}
	var pairs []renamed
	for i, a := range from {
		for j, b := range to {
			if score := similarity(a, b); score >= minScore {
				pairs = append(pairs, renamed{old: gone[i], new: made[j], score: score})
			}
		}
	}
	slices.SortFunc(pairs, betterRename)
	used := map[string]bool{}
	var found []renamed
	for _, p := range pairs {
		if !used["-"+p.old.Path] && !used["+"+p.new.Path] {
			used["-"+p.old.Path], used["+"+p.new.Path] = true, true
			found = append(found, p)
		}
	}
	return found, nil
}

func betterRename(a, b renamed) int {
	sameName := func(m renamed) int {
		if path.Base(m.old.Path) == path.Base(m.new.Path) {
			return 0
		}
		return 1
	}
	return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(sameName(a), sameName(b)),
		strings.Compare(a.old.Path, b.old.Path), strings.Compare(a.new.Path, b.new.Path))
}

// spectrum counts a content's bytes by the line or chunk that holds them.
type spectrum struct {
	size   int
	chunks map[string]int
}

// spectra reads the regular files among the changes; the others have no spectrum.
func spectra(ctx context.Context, r git.Reader, changes []git.Change, entry func(git.Change) git.Entry) ([]*spectrum, error) {
	out := make([]*spectrum, len(changes))
	for i, c := range changes {
		e := entry(c)
		if !e.Mode.IsFile() || e.OID == emptyBlob {
			continue
		}
		content, err := r.ReadBlob(ctx, e.OID)
		var tooLarge *git.LimitError
		if errors.As(err, &tooLarge) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read %q: %w", c.Path, err)
		}
		out[i] = newSpectrum(content)
	}
	return out, nil
}

// newSpectrum splits content at newlines and after every 64 bytes; in text, CRLF counts as LF.
func newSpectrum(content []byte) *spectrum {
	s := &spectrum{size: len(content), chunks: map[string]int{}}
	text := !diff.IsBinary(content)
	for len(content) > 0 {
		end := min(64, len(content))
		if nl := bytes.IndexByte(content[:end], '\n'); nl >= 0 {
			end = nl + 1
		}
		chunk := content[:end]
		if text && bytes.HasSuffix(chunk, []byte("\r\n")) {
			chunk = append(slices.Clone(chunk[:end-2]), '\n')
		}
		s.chunks[string(chunk)] += len(chunk)
		content = content[end:]
	}
	return s
}

// similarity scores two contents from 0 to maxScore: the bytes they share over the larger size.
func similarity(a, b *spectrum) int {
	if a == nil || b == nil {
		return 0
	}
	larger, smaller := max(a.size, b.size), min(a.size, b.size)
	if smaller*maxScore < larger*minScore {
		return 0
	}
	shared := 0
	for chunk, n := range a.chunks {
		shared += min(n, b.chunks[chunk])
	}
	return min(shared*maxScore/larger, maxScore)
}

// kind is the type of file that a mode stands for.
func kind(m git.Mode) git.Mode { return m &^ 0o7777 }
