package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Reference does by git, in a real worktree, what decisions do in memory: slow, simple, and independent of our own code.
// The worktree is a linked one of the hermetic directory, not of the user's repository, so that no configuration, hook,
// filter or attribute of anybody reaches it; the attributes in the tree itself are overruled, line ends are kept. New
// objects stay in the hermetic directory until Close. One goroutine at a time may use it.
type Reference struct {
	repo *Repo
	bare *hermeticDir // a git directory of this reference alone
	home string       // its path
	dir  string       // its linked worktree
	cat  *catFile
}

// NewReference adds the worktree at dir, which must not exist yet.
func (r *Repo) NewReference(ctx context.Context, dir string) (*Reference, error) {
	if _, err := os.Lstat(dir); err == nil {
		return nil, fmt.Errorf("make reference worktree: %q exists", dir)
	}
	bare, err := newHermeticDir(r.opt.Scratch)
	if err != nil {
		return nil, err
	}
	ref := &Reference{repo: r, bare: bare, home: bare.dir, dir: dir}
	if err := ref.setUp(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("make reference worktree: %w", err), ref.Close())
	}
	return ref, nil
}

func (f *Reference) setUp(ctx context.Context) error {
	// This file goes before every .gitattributes: "!" makes each attribute unspecified again.
	neutral := "* !text !eol !crlf !filter !ident !merge !diff !working-tree-encoding !whitespace !conflict-marker-size !export-subst\n"
	if err := os.MkdirAll(filepath.Join(f.home, "info"), 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(f.home, "info", "attributes"), []byte(neutral), 0o600); err != nil {
		return err
	}
	env := with(f.env(), "GIT_DIR="+f.home)
	f.cat = newCatFile(catFileOptions{
		binary: f.repo.binary, dir: f.home, env: env, processes: 1,
		started: &f.repo.started, limit: f.repo.opt.MaxObjectBytes,
	})
	empty, err := f.commit(ctx, EmptyTree)
	if err != nil {
		return err
	}
	args := append(writePins(), "worktree", "add", "--quiet", "--detach", "--no-checkout", "--end-of-options", f.dir, string(empty))
	_, err = f.repo.run(ctx, command{args: args, dir: f.home, env: env})
	return err
}

// env has the objects of the user's repository in reach, and writes into our own directory.
func (f *Reference) env() []string {
	return with(f.repo.env, "GIT_ALTERNATE_OBJECT_DIRECTORIES="+quotePathList(f.repo.objectDir),
		"GIT_AUTHOR_DATE=@2000000000 +0000", "GIT_COMMITTER_DATE=@2000000000 +0000")
}

func (f *Reference) git(ctx context.Context, stdin []byte, args ...string) (string, error) {
	all := append(append(mergePins(), writePins()...), pins("core.longpaths=true", "core.safecrlf=false", "apply.ignoreWhitespace=no", "apply.whitespace=nowarn")...)
	out, err := f.repo.run(ctx, command{args: append(all, args...), dir: f.dir, env: f.env(), stdin: stdin})
	return strings.TrimSpace(string(out)), err
}

func (f *Reference) commit(ctx context.Context, tree OID, parents ...OID) (OID, error) {
	args := []string{"hash-object", "-w", "-t", "commit", "--stdin"}
	data := EncodeCommit(syntheticCommit(tree, parents))
	if tree == EmptyTree {
		mktree := command{args: []string{"mktree"}, dir: f.home, env: with(f.env(), "GIT_DIR="+f.home), stdin: []byte{}}
		if _, err := f.repo.run(ctx, mktree); err != nil {
			return "", err
		}
	}
	out, err := f.repo.run(ctx, command{args: args, dir: f.home, env: with(f.env(), "GIT_DIR="+f.home), stdin: data})
	if err != nil {
		return "", err
	}
	return ParseOID(strings.TrimSpace(string(out)))
}

// Dir is the worktree.
func (f *Reference) Dir() string { return f.dir }

// Apply checks a tree out, applies a patch to files and index with "git apply" and gives the tree that came out. Git
// takes a hunk at another line than it says when the context is found there: who wants exactness compares the trees.
// A patch that does not apply is a *CommandError.
func (f *Reference) Apply(ctx context.Context, tree OID, patch []byte) (OID, error) {
	if err := f.checkout(ctx, tree); err != nil {
		return "", err
	}
	if _, err := f.git(ctx, patch, "apply", "--index", "--whitespace=nowarn", "--binary", "-"); err != nil {
		return "", fmt.Errorf("apply patch: %w", err)
	}
	return f.writeTree(ctx)
}

// checkout makes files and index equal to a tree, and HEAD a commit of it.
func (f *Reference) checkout(ctx context.Context, tree OID, parents ...OID) error {
	commit, err := f.commit(ctx, tree, parents...)
	if err != nil {
		return fmt.Errorf("check out: %w", err)
	}
	if _, err := f.git(ctx, nil, "read-tree", "--reset", "-u", string(commit)); err != nil {
		return fmt.Errorf("check out: %w", err)
	}
	if _, err := f.git(ctx, nil, "clean", "-q", "-f", "-f", "-d", "-x"); err != nil {
		return fmt.Errorf("check out: %w", err)
	}
	_, err = f.git(ctx, nil, "update-ref", "--no-deref", "HEAD", string(commit))
	return err
}

func (f *Reference) writeTree(ctx context.Context) (OID, error) {
	out, err := f.git(ctx, nil, "write-tree")
	if err != nil {
		return "", fmt.Errorf("write tree: %w", err)
	}
	return ParseOID(out)
}

// Merge checks theirs out and cherry-picks the change from base to ours onto it, in files and index. With conflicts,
// Tree is empty and the unmerged entries are listed: stage 2 is theirs, on which the change is picked, stage 3 ours.
func (f *Reference) Merge(ctx context.Context, base, ours, theirs OID) (MergeResult, error) {
	root, err := f.commit(ctx, base)
	if err != nil {
		return MergeResult{}, fmt.Errorf("merge in worktree: %w", err)
	}
	change, err := f.commit(ctx, ours, root)
	if err != nil {
		return MergeResult{}, fmt.Errorf("merge in worktree: %w", err)
	}
	if err := f.checkout(ctx, theirs, root); err != nil {
		return MergeResult{}, err
	}
	_, err = f.git(ctx, nil, "cherry-pick", "--no-commit", "--strategy=ort", "--keep-redundant-commits", string(change))
	var failed *CommandError
	if err != nil && (!errors.As(err, &failed) || failed.ExitCode != 1) {
		return MergeResult{}, fmt.Errorf("merge in worktree: %w", err)
	}
	if err == nil {
		tree, err := f.writeTree(ctx)
		return MergeResult{Clean: true, Tree: tree}, err
	}
	return f.conflicts(ctx)
}

func (f *Reference) conflicts(ctx context.Context) (MergeResult, error) {
	out, err := f.git(ctx, nil, "ls-files", "--unmerged", "-z")
	if err != nil {
		return MergeResult{}, fmt.Errorf("merge in worktree: %w", err)
	}
	result := MergeResult{}
	for field := range strings.SplitSeq(strings.TrimSuffix(out, "\x00"), "\x00") {
		conflict, err := parseMergeConflict(field)
		if err != nil {
			return MergeResult{}, err
		}
		result.Conflicts = append(result.Conflicts, conflict)
	}
	return result, nil
}

// Read implements Reader over the repository's objects and those made here.
func (f *Reference) Read(ctx context.Context, id OID) (Object, error) {
	return readFrom(ctx, f.cat, id)
}

// ReadBlob implements Reader.
func (f *Reference) ReadBlob(ctx context.Context, id OID) ([]byte, error) {
	object, err := f.Read(ctx, id)
	if err == nil && object.Type != TypeBlob {
		err = &TypeError{OID: id, Want: TypeBlob, Got: object.Type}
	}
	return object.Data, err
}

// ReadTree implements Reader.
func (f *Reference) ReadTree(ctx context.Context, id OID) (Tree, error) {
	object, err := f.Read(ctx, id)
	if err != nil {
		return nil, err
	}
	return parseTreeObject(object)
}

// ReadCommit implements Reader.
func (f *Reference) ReadCommit(ctx context.Context, id OID) (*Commit, error) {
	object, err := f.Read(ctx, id)
	if err != nil {
		return nil, err
	}
	return parseCommitObject(object)
}

// Close removes the worktree, the objects made in it and its git directory.
func (f *Reference) Close() error {
	var errs []error
	if f.cat != nil {
		errs = append(errs, f.cat.close())
	}
	errs = append(errs, RemoveTree(f.dir))
	f.bare.remove()
	return errors.Join(errs...)
}

var _ Reader = (*Reference)(nil)
