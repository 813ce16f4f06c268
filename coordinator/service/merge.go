package service

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"patchd/coordinator"
	"patchd/coordinator/ledger"
	"patchd/worktree/diff"
	"patchd/worktree/git"
)

// MergeCandidate is the diff3 merge that a person looks at before submitting again with base_commit = PublishAtVersion and
// supersedes. Nothing publishes it by itself. Markers are git's: "ours" is the patch, "theirs" the target, or the other
// pending patch where With names one.
type MergeCandidate struct {
	Status           string               `json:"status"` // "merge-candidate"
	BaseVersion      git.OID              `json:"base_version"`
	YourVersion      coordinator.Identity `json:"your_version"`
	CurrentVersion   git.OID              `json:"current_version"`
	PublishAtVersion git.OID              `json:"publish_at_version"`
	HasMarkers       bool                 `json:"has_markers"`
	Files            []MergedFile         `json:"files"`
	With             coordinator.Identity `json:"with,omitempty"` // the pending patch on the other side
	Tree             git.OID              `json:"tree,omitempty"` // the result tree of a merge without markers: what accept names
}

// MergedFile is one file of a merge candidate. Content that is not UTF-8 is in base64, and Encoding says so.
type MergedFile struct {
	Path       string `json:"path"`
	HasMarkers bool   `json:"has_markers"`
	Content    string `json:"content"`
	Encoding   string `json:"encoding,omitempty"` // "base64" or empty
}

// Bytes is the file's content.
func (f MergedFile) Bytes() ([]byte, error) {
	if f.Encoding == "" {
		return []byte(f.Content), nil
	}
	b, err := base64.StdEncoding.DecodeString(f.Content)
	if err != nil {
		return nil, fmt.Errorf("decode %q: %w", f.Path, err)
	}
	return b, nil
}

const mergeStatus = "merge-candidate"

// MergeCandidate works the merge of a patch in textual or structural conflict out at the present target commit: with the
// target, or else with the pending patch that with names (a key; empty: the first that it contends with).
func (s *Service) MergeCandidate(ctx context.Context, repo string, ref git.Ref, key, with string) (merge *MergeCandidate, err error) {
	defer away(&err)
	t, id, err := s.find(ctx, repo, ref, key)
	if err != nil {
		return nil, err
	}
	row, err := s.observe(ctx, t)
	if err != nil {
		return nil, err
	}
	pending, err := s.loadSet(ctx, t, row)
	if err != nil {
		return nil, err
	}
	j := pending.states[coordinator.Identity(id)]
	switch {
	case j == nil || j.Plan == nil:
		return nil, errf(ErrNotFound, "key", "see `patchd show`", "patch %s has no plan at %s", id, row.Commit)
	case with == "" && len(j.Plan.Merge) > 0:
		return mergeWithTarget(row.Commit, j), nil
	}
	var other coordinator.Identity
	if with != "" {
		_, found, err := s.find(ctx, t.repo.name, t.ref, with)
		if err != nil {
			return nil, err
		}
		other = coordinator.Identity(found)
	} else if i := slices.IndexFunc(j.Status.Contention, lines); i >= 0 {
		other = coordinator.Identity(j.Status.Contention[i].With)
	}
	theirs := pending.states[other]
	if theirs == nil || theirs.Plan == nil || !slices.ContainsFunc(j.Status.Contention, func(r coordinator.Reason) bool { return r.With == string(other) && lines(r) }) {
		return nil, errf(ErrNotFound, "key", "see `patchd show` for the reasons", "patch %s is in no conflict of lines or structure that can be merged", id)
	}
	return mergeWithPatch(ctx, row.Commit, j, theirs)
}

// lines reports whether a reason is about the text of a file.
func lines(r coordinator.Reason) bool {
	return r.Path != "" && r.Class != coordinator.ClassBehavioral
}

// mergeWithTarget is the merge that the plan worked out.
func mergeWithTarget(target git.OID, j *coordinator.Judged) *MergeCandidate {
	d := &j.Plan.Decision
	out := &MergeCandidate{
		Status: mergeStatus, BaseVersion: d.Patch.BaseCommit, YourVersion: d.Patch.Identity, CurrentVersion: target, PublishAtVersion: target, Files: []MergedFile{},
	}
	for _, f := range j.Plan.Merge {
		out.add(f.Path, f.Content, f.HasMarkers)
	}
	if !out.HasMarkers {
		out.Tree = j.Plan.Tree
	}
	return out
}

// mergeWithPatch merges the files that two contending patches meet in, as each leaves them on what both stand on.
func mergeWithPatch(ctx context.Context, target git.OID, ours, theirs *coordinator.Judged) (*MergeCandidate, error) {
	on := target
	if a, b := ours.Plan.Decision.Candidate, theirs.Plan.Decision.Candidate; a != nil && b != nil && a.Parent == b.Parent {
		on = a.Parent // both build on the same patches
	}
	base, err := ours.Plan.Objects.ReadCommit(ctx, on)
	if err != nil {
		return nil, fmt.Errorf("read what both patches stand on: %w", err)
	}
	other := theirs.Plan.Identity()
	out := &MergeCandidate{
		Status: mergeStatus, BaseVersion: on, YourVersion: ours.Plan.Identity(), CurrentVersion: target, PublishAtVersion: on, Files: []MergedFile{}, With: other,
	}
	for _, path := range meetingPaths(ours, other) {
		var sides [3][][]byte
		for i, side := range []struct {
			objects git.Reader
			tree    git.OID
		}{{ours.Plan.Objects, base.Tree}, {ours.Plan.Objects, ours.Plan.Tree}, {theirs.Plan.Objects, theirs.Plan.Tree}} {
			if sides[i], err = linesAt(ctx, side.objects, side.tree, path); err != nil {
				return nil, err
			}
		}
		content, markers := diff.Merge3(sides[0], sides[1], sides[2], diff.DefaultLabels())
		out.add(path, content, markers)
	}
	return out, nil
}

// meetingPaths are the files in which a patch contends with another, ascending.
func meetingPaths(j *coordinator.Judged, other coordinator.Identity) []string {
	var out []string
	for _, r := range j.Status.Contention {
		if r.With == string(other) && lines(r) {
			out = append(out, r.Path)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// linesAt reads a file of a tree as lines; a path that is no file there has none.
func linesAt(ctx context.Context, r git.Reader, tree git.OID, path string) ([][]byte, error) {
	entry, err := git.Lookup(ctx, r, tree, path)
	if err != nil {
		return nil, fmt.Errorf("look up %q: %w", path, err)
	}
	if !entry.Mode.IsFile() {
		return nil, nil
	}
	content, err := r.ReadBlob(ctx, entry.OID)
	if err != nil {
		return nil, fmt.Errorf("read %q: %w", path, err)
	}
	return diff.Lines(content), nil
}

func (m *MergeCandidate) add(path string, content []byte, markers bool) {
	f := MergedFile{Path: path, HasMarkers: markers, Content: string(content)}
	if !utf8.Valid(content) {
		f.Content, f.Encoding = base64.StdEncoding.EncodeToString(content), "base64"
	}
	m.Files = append(m.Files, f)
	m.HasMarkers = m.HasMarkers || markers
}

// State is patchd/state/1 of a target: what is published of every pending patch, worked out at the present target commit.
func (s *Service) State(ctx context.Context, repo string, ref git.Ref) (state *coordinator.State, err error) {
	defer away(&err)
	t, err := s.lookup(repo, ref)
	if err != nil {
		return nil, err
	}
	row, err := s.observe(ctx, t)
	if err != nil {
		return nil, err
	}
	pending, err := s.loadSet(ctx, t, row)
	if err != nil {
		return nil, err
	}
	return pending.state, nil
}

// attachMerge adds the merge candidate where the manifest asks for it in a conflict.
func (s *Service) attachMerge(ctx context.Context, t *target, p *Patch) error {
	if p.State != StateDecided || p.Outcome != coordinator.OutcomeConflict || p.Class == coordinator.ClassBehavioral {
		return nil
	}
	sub, err := s.anySubmission(ctx, t, ledger.Identity(p.Identity))
	if err != nil || sub == nil || sub.Manifest.OnConflict != "merge" {
		return err
	}
	merge, err := s.MergeCandidate(ctx, t.repo.name, t.ref, string(p.Identity), "")
	var none *Error
	if errors.As(err, &none) { // the set has changed since: whoever looks again sees it
		return nil
	}
	p.Merge = merge
	return err
}
