package git

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Merge names the three trees of a merge.
type Merge struct{ Base, Ours, Theirs OID }

// MergeTrees is MergeTree for many merges in one process. The results stand in the order of the merges; each of them can read
// the objects that git made for any.
func (r *Repo) MergeTrees(ctx context.Context, ov *Overlay, merges []Merge) ([]MergeResult, error) {
	if len(merges) == 0 {
		return nil, nil
	}
	dir, err := os.MkdirTemp(filepath.Join(r.hermetic.dir, "merges"), "")
	if err != nil {
		return nil, fmt.Errorf("merge trees: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	pairs, err := r.quarantine(ctx, dir, ov, merges)
	if err != nil {
		return nil, fmt.Errorf("merge trees: %w", err)
	}
	var input strings.Builder
	for _, p := range pairs {
		fmt.Fprintf(&input, "%s %s\n", p[0], p[1])
	}
	args := append(mergePins(), "merge-tree", "--write-tree", "--stdin", "--messages", "--allow-unrelated-histories")
	out, err := r.run(ctx, command{args: args, dir: r.hermetic.dir, env: r.mergeEnv(dir), stdin: []byte(input.String())})
	if err != nil {
		return nil, fmt.Errorf("merge trees: %w", err)
	}
	results, err := parseMergeTrees(out)
	if err != nil {
		return nil, err
	}
	if len(results) != len(merges) {
		return nil, fmt.Errorf("read merge-tree output: %d results of %d merges", len(results), len(merges))
	}
	objects, err := readLooseDir(dir)
	for i := range results {
		results[i].Objects = objects
	}
	return results, err
}

// mergeEnv lets git read the repository and write to a directory that is thrown away.
func (r *Repo) mergeEnv(dir string) []string {
	return with(r.env, "GIT_DIR="+r.hermetic.dir, "GIT_OBJECT_DIRECTORY="+dir, "GIT_ALTERNATE_OBJECT_DIRECTORIES="+quotePathList(r.objectDir))
}

// parseMergeTrees reads what "git merge-tree --stdin --messages" prints: for each merge whether it is clean, the tree, the
// unmerged entries, an empty field, the messages, an empty field.
func parseMergeTrees(out []byte) ([]MergeResult, error) {
	var results []MergeResult
	fields := strings.Split(string(bytes.TrimSuffix(out, []byte{0})), "\x00")
	for len(fields) > 1 {
		if fields[0] != "0" && fields[0] != "1" {
			return nil, fmt.Errorf("read merge-tree output: unexpected %q", fields[0])
		}
		result := MergeResult{Clean: fields[0] == "1", Tree: OID(fields[1])}
		if !result.Tree.Valid() {
			return nil, fmt.Errorf("read merge-tree output: %q is no tree", fields[1])
		}
		var err error
		if result.Conflicts, fields, err = takeConflicts(fields[2:]); err != nil {
			return nil, err
		}
		result.Messages, fields = takeMessages(fields)
		results = append(results, result)
	}
	return results, nil
}
