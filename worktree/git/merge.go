package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// MergeConflict is one entry of a path that git left unmerged: stage 1 is the base, 2 ours, 3 theirs.
type MergeConflict struct {
	Mode  Mode
	OID   OID
	Stage int
	Path  string
}

// MergeMessage is what git says about paths. Type is git's stable short name ("CONFLICT (contents)"); Text is prose
// that differs between versions.
type MergeMessage struct {
	Paths []string
	Type  string
	Text  string
}

// MergeResult is git's own opinion of a three-way merge. With conflicts, Tree holds files with conflict markers.
// Objects are those that git made; Reader reads them together with all others.
type MergeResult struct {
	Clean     bool
	Tree      OID
	Conflicts []MergeConflict
	Messages  []MergeMessage
	Objects   []Object
}

// Reader reads the result's trees and blobs, over r for everything else.
func (m *MergeResult) Reader(r Reader) *Overlay {
	over := NewOverlay(r)
	for _, object := range m.Objects {
		over.Put(object.Type, object.Data)
	}
	return over
}

// MergeTree asks git to merge three trees: one "git merge-tree" process in the hermetic directory, with renames found
// and every setting pinned. Nothing reaches the repository's store. The commits that git wants are made up, so that no
// history is walked. ov may be nil when no tree is new.
func (r *Repo) MergeTree(ctx context.Context, ov *Overlay, base, ours, theirs OID) (MergeResult, error) {
	dir, err := os.MkdirTemp(filepath.Join(r.hermetic.dir, "merges"), "")
	if err != nil {
		return MergeResult{}, fmt.Errorf("merge trees: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	pairs, err := r.quarantine(ctx, dir, ov, []Merge{{base, ours, theirs}})
	if err != nil {
		return MergeResult{}, fmt.Errorf("merge trees: %w", err)
	}
	a, b := pairs[0][0], pairs[0][1]
	args := append(mergePins(), "merge-tree", "--write-tree", "-z", "--messages", "--allow-unrelated-histories", string(a), string(b))
	out, err := r.run(ctx, command{args: args, dir: r.hermetic.dir, env: r.mergeEnv(dir)})
	var failed *CommandError
	conflicts := errors.As(err, &failed) && failed.ExitCode == 1
	if err != nil && !conflicts {
		return MergeResult{}, fmt.Errorf("merge trees: %w", err)
	}
	result, err := parseMergeTree(out)
	if err != nil {
		return MergeResult{}, err
	}
	result.Clean = !conflicts
	result.Objects, err = readLooseDir(dir)
	return result, err
}

// quarantine writes what git needs and the repository may lack into dir: the new objects that the trees reach and, for each
// merge, two made-up commits with the base as their parent, which it gives.
func (r *Repo) quarantine(ctx context.Context, dir string, ov *Overlay, merges []Merge) ([][2]OID, error) {
	if ov == nil {
		ov = NewOverlay(r)
	}
	objects := map[OID]Object{}
	commit := func(tree OID, parents ...OID) OID {
		data := EncodeCommit(syntheticCommit(tree, parents))
		id := HashObject(TypeCommit, data)
		objects[id] = Object{OID: id, Type: TypeCommit, Data: data}
		return id
	}
	pairs := make([][2]OID, len(merges))
	for i, m := range merges {
		for _, tree := range []OID{m.Base, m.Ours, m.Theirs} {
			if _, err := readTree(ctx, ov, tree); err != nil {
				return nil, err
			}
			if err := collectNew(ctx, ov, tree, objects); err != nil {
				return nil, err
			}
		}
		root := commit(m.Base)
		pairs[i] = [2]OID{commit(m.Ours, root), commit(m.Theirs, root)}
	}
	sorted := make([]Object, 0, len(objects))
	for _, object := range objects {
		sorted = append(sorted, object)
	}
	sortObjects(sorted)
	p, err := buildPack(sorted, false)
	if err != nil {
		return nil, err
	}
	return pairs, p.write(filepath.Join(dir, "pack"), false)
}

func syntheticCommit(tree OID, parents []OID) Commit {
	who := Signature{Name: "patchd", Email: "patchd@localhost", When: time.Unix(2_000_000_000, 0).UTC()}
	return Commit{Tree: tree, Parents: parents, Author: who, Committer: who, Message: "merge\n"}
}

// collectNew gathers the objects below a tree that only the overlays hold; what the repository has is not entered.
func collectNew(ctx context.Context, ov *Overlay, id OID, found map[OID]Object) error {
	if _, done := found[id]; done {
		return nil
	}
	object, ok := ov.find(id)
	if !ok {
		if id == EmptyTree {
			found[id] = Object{OID: id, Type: TypeTree}
		}
		return nil
	}
	found[id] = object
	if object.Type != TypeTree {
		return nil
	}
	tree, err := ov.ReadTree(ctx, id)
	if err != nil {
		return err
	}
	for _, entry := range tree {
		if err := collectNew(ctx, ov, entry.OID, found); err != nil {
			return err
		}
	}
	return nil
}

// find looks through overlays that lie on each other.
func (o *Overlay) find(id OID) (Object, bool) {
	for at := o; ; {
		if object, ok := at.own(id); ok {
			return object, true
		}
		under, ok := at.under.(*Overlay)
		if !ok {
			return Object{}, false
		}
		at = under
	}
}

// parseMergeTree reads the output of "git merge-tree --write-tree -z --messages": the tree, the unmerged entries, an
// empty field, the messages.
func parseMergeTree(out []byte) (MergeResult, error) {
	fields := strings.Split(string(bytes.TrimSuffix(out, []byte{0})), "\x00")
	result := MergeResult{Tree: OID(fields[0])}
	if !result.Tree.Valid() {
		return MergeResult{}, fmt.Errorf("read merge-tree output: %q is no tree", fields[0])
	}
	var err error
	if result.Conflicts, fields, err = takeConflicts(fields[1:]); err != nil {
		return MergeResult{}, err
	}
	result.Messages, _ = takeMessages(fields)
	return result, nil
}

// takeConflicts reads unmerged entries up to and with an empty field, and gives what follows.
func takeConflicts(fields []string) ([]MergeConflict, []string, error) {
	var out []MergeConflict
	for len(fields) > 0 && fields[0] != "" {
		conflict, err := parseMergeConflict(fields[0])
		if err != nil {
			return nil, nil, err
		}
		out = append(out, conflict)
		fields = fields[1:]
	}
	if len(fields) > 0 {
		fields = fields[1:]
	}
	return out, fields, nil
}

func parseMergeConflict(s string) (MergeConflict, error) {
	head, path, ok := strings.Cut(s, "\t")
	parts := strings.Fields(head)
	if !ok || len(parts) != 3 {
		return MergeConflict{}, fmt.Errorf("read merge-tree output: unexpected %q", s)
	}
	mode, errMode := strconv.ParseUint(parts[0], 8, 32)
	stage, errStage := strconv.Atoi(parts[2])
	if err := errors.Join(errMode, errStage); err != nil {
		return MergeConflict{}, fmt.Errorf("read merge-tree output: %w", err)
	}
	return MergeConflict{Mode: Mode(mode), OID: OID(parts[1]), Stage: stage, Path: path}, nil
}

// takeMessages reads groups of count, that many paths, type and text up to and with an empty field, and gives what follows.
func takeMessages(fields []string) ([]MergeMessage, []string) {
	var messages []MergeMessage
	for len(fields) > 0 && fields[0] != "" {
		n, err := strconv.Atoi(fields[0])
		if err != nil || n < 0 || len(fields) < n+3 {
			return messages, nil
		}
		message := MergeMessage{Paths: fields[1 : n+1], Type: fields[n+1], Text: strings.TrimSuffix(fields[n+2], "\n")}
		messages = append(messages, message)
		fields = fields[n+3:]
	}
	if len(fields) > 0 {
		fields = fields[1:]
	}
	return messages, fields
}
