package ownership_test

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"patchd/ownership"
	"patchd/worktree/diff"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func version(path, text string) *ownership.Version {
	sum := sha256.Sum256([]byte(text))
	return &ownership.Version{Path: path, Blob: hex.EncodeToString(sum[:]), Text: []byte(text)}
}

// editsOf gives the edits from one version to another, none where one is missing.
func editsOf(base, result *ownership.Version) []ownership.Edit {
	if base == nil || result == nil {
		return nil
	}
	list := diff.Edits(diff.Lines(base.Text), diff.Lines(result.Text))
	return ownership.Edits(len(list), func(i int) (int, int, int) { return list[i].Start, list[i].End, len(list[i].New) })
}

func file(base, left, right *ownership.Version) ownership.File {
	return ownership.File{Base: base, Left: left, Right: right, LeftEdits: editsOf(base, left), RightEdits: editsOf(base, right)}
}

// swap exchanges the sides of an input.
func swap(in ownership.Input) ownership.Input {
	out := in
	out.Files = slices.Clone(in.Files)
	for i, f := range out.Files {
		out.Files[i] = ownership.File{Base: f.Base, Left: f.Right, Right: f.Left, LeftEdits: f.RightEdits, RightEdits: f.LeftEdits}
	}
	out.LeftOwned, out.RightOwned = in.RightOwned, in.LeftOwned
	out.LeftName, out.RightName = in.RightName, in.LeftName
	return out
}

// turned gives the reasons as the other side sees them.
func turned(list []ownership.Reason) []ownership.Reason {
	out := slices.Clone(list)
	for i, r := range out {
		out[i].Left, out[i].Right = r.Right, r.Left
		out[i].LeftLines, out[i].RightLines = r.RightLines, r.LeftLines
	}
	return out
}

// brief is the code, path and symbol of each reason, sorted.
func brief(list []ownership.Reason) []string {
	out := []string{}
	for _, r := range list {
		out = append(out, strings.TrimSpace(string(r.Code)+" "+r.Path+" "+r.Symbol))
	}
	slices.Sort(out)
	return slices.Compact(out)
}
