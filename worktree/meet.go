package worktree

import (
	"context"
	"fmt"

	"patchd/worktree/diff"
	"patchd/worktree/git"
)

// meet compares the two sides' changes of one file.
func (m *meeting) meet(ctx context.Context, rules Rules) error {
	l, r := m.left, m.right
	if l.Src == "" {
		m.add(AddAdd, l.Dst, "both sides add the file with different content")
		return nil
	}
	m.union = rules.union(l.Src) && l.Dst == l.Src && r.Dst == r.Src
	m.dst = r.Dst
	switch {
	case l.Dst == "" && r.Dst == "":
		return nil
	case l.Dst == "" || r.Dst == "":
		kept := l
		if l.Dst == "" {
			kept = r
		}
		what := "changes"
		if kept.IsRename() {
			what = "renames"
		}
		m.add(ModifyDelete, l.Src, "one side deletes the file, the other "+what+" it")
		return nil
	case l.Dst != r.Dst && l.IsRename() && r.IsRename():
		first, second := min(l.Dst, r.Dst), max(l.Dst, r.Dst)
		m.add(RenameRename, l.Src, fmt.Sprintf("the file becomes %q on one side and %q on the other", first, second))
	case l.Dst != r.Dst:
		if l.IsRename() {
			m.dst = l.Dst
		}
		m.add(FileRenamed, l.Src, fmt.Sprintf("one side renames the file to %q, the other changes it", m.dst))
	}
	return m.meetEntries(ctx, rules)
}

// meetEntries merges mode and content of a file that both sides keep.
func (m *meeting) meetEntries(ctx context.Context, rules Rules) error {
	l, r := m.left, m.right
	old := l.Old
	switch {
	case old.Mode == git.ModeGitlink || l.New.Mode == git.ModeGitlink || r.New.Mode == git.ModeGitlink:
		switch {
		case l.New == old || l.New == r.New:
			m.entry = r.New
		case r.New == old:
			m.entry = l.New
		default:
			m.add(Submodule, l.Src, "both sides change the submodule")
		}
		return nil
	case kind(l.New.Mode) != kind(old.Mode) && r.New != old || kind(r.New.Mode) != kind(old.Mode) && l.New != old:
		if l.New != r.New {
			m.add(ModeChange, l.Src, "one side changes the file's type, the other changes the file")
		}
		m.entry = r.New
		return nil
	}
	if m.entry.Mode = r.New.Mode; r.New.Mode == old.Mode {
		m.entry.Mode = l.New.Mode
	} else if l.New.Mode != old.Mode && l.New.Mode != r.New.Mode {
		m.add(ModeChange, l.Src, "both sides change the file's mode")
	}
	switch {
	case l.New.OID == old.OID || l.New.OID == r.New.OID:
		m.entry.OID = r.New.OID
	case r.New.OID == old.OID:
		m.entry.OID = l.New.OID
	default:
		return m.meetContents(ctx, rules)
	}
	return nil
}

// meetContents merges contents that both sides change.
func (m *meeting) meetContents(ctx context.Context, rules Rules) error {
	l, r := m.left, m.right
	if l.Old.Mode == git.ModeSymlink {
		m.add(SameLines, l.Src, "both sides point the link elsewhere")
		return nil
	}
	fixed, err := rules.unmergeable(ctx, r.Dst)
	if err != nil {
		return err
	}
	if fixed || !l.Text || !r.Text {
		m.add(Binary, l.Src, "both sides change a content that is not merged")
		return nil
	}
	m.lines = mergeLines(l.Base, l.Edits, r.Edits, m.union)
	if m.union && len(m.lines.contacts) > 0 || m.union && m.lines.joined {
		m.stepwise()
	}
	size := len(l.Base)
	for _, c := range m.lines.contacts {
		target := mapSpan(r.Edits, c.base)
		m.reasons = append(m.reasons, Reason{
			Code: c.code, Path: l.Src, BaseLines: shownLines(c.base, size),
			TargetLines: shownLines(target, size+growth(r.Edits)),
		})
	}
	m.write = true
	return nil
}

// stepwise merges a union path again over a side that was read commit by commit, so that each commit's block
// stays whole. Where that is not possible insertions at one gap are in each other's way after all.
func (m *meeting) stepwise() {
	l, r := m.left, m.right
	var byStep *lineMerge
	switch {
	case len(r.Steps) > 1:
		byStep = mergeSteps(l.Base, l.Edits, r.Steps)
	case len(l.Steps) > 1:
		byStep = mergeSteps(l.Base, r.Edits, l.Steps)
	default:
		return
	}
	if byStep == nil {
		byStep = mergeLines(l.Base, l.Edits, r.Edits, false)
	}
	m.lines = byStep
}

// growth is how many lines edits add in all.
func growth(edits []diff.Edit) int {
	n := 0
	for _, e := range edits {
		n += len(e.New) - (e.End - e.Start)
	}
	return n
}

// result gives the file's merged content. It may be asked for only when no file is blocked.
func (m *meeting) result() []byte {
	if m.lines.stepped {
		return diff.Join(m.lines.content)
	}
	return diff.Join(diff.Apply(m.left.Base, m.lines.merged))
}
