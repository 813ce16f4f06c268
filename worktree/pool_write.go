package worktree

import (
	"context"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"patchd/worktree/git"
)

// poolWriters is how many directories are written at once; more only wait for each other in the file system.
const poolWriters = 2

// writer brings a worktree from its recorded state to a tree: what is in the way is removed, then files are written,
// directory by directory.
type writer struct {
	tree    *poolTree
	root    dirHandle
	objects git.Reader
	removes []string
	batches map[string]*batch
}

// batch is what is to be written into one directory.
type batch struct {
	dir   *poolDir
	files map[string]git.Entry
}

// plan compares the record of a directory with a tree; equal ones are not entered, and the old tree is not read.
func (w *writer) plan(ctx context.Context, dir *poolDir, path string, tree git.OID) error {
	if dir.tree == tree {
		return nil
	}
	var entries git.Tree
	if tree != git.EmptyTree {
		var err error
		if entries, err = w.objects.ReadTree(ctx, tree); err != nil {
			return err
		}
	}
	w.planRemoves(dir, path, entries)
	for _, e := range entries {
		if e.Mode != git.ModeTree {
			if dir.files[e.Name].entry != e.Entry {
				w.add(dir, path, e.Name, e.Entry)
			}
			continue
		}
		sub := dir.dirs[e.Name]
		if sub == nil {
			sub = newPoolDir()
			dir.dirs[e.Name] = sub
		}
		if err := w.plan(ctx, sub, poolJoin(path, e.Name), e.OID); err != nil {
			return err
		}
	}
	dir.tree, dir.order = tree, nil
	return nil
}

// planRemoves drops what the tree does not have, or has as another kind.
func (w *writer) planRemoves(dir *poolDir, path string, entries git.Tree) {
	wanted := make(map[string]git.Mode, len(entries))
	for _, e := range entries {
		wanted[e.Name] = e.Mode
	}
	for name := range dir.files {
		if mode, ok := wanted[name]; !ok || mode == git.ModeTree {
			delete(dir.files, name)
			w.removes = append(w.removes, poolJoin(path, name))
		}
	}
	for name := range dir.dirs {
		if wanted[name] != git.ModeTree {
			delete(dir.dirs, name)
			w.removes = append(w.removes, poolJoin(path, name))
		}
	}
}

func (w *writer) add(dir *poolDir, path, name string, entry git.Entry) {
	b := w.batches[path]
	if b == nil {
		b = &batch{dir: dir, files: map[string]git.Entry{}}
		w.batches[path] = b
	}
	b.files[name] = entry
}

// planDirty writes again what was changed and still is wanted.
func (w *writer) planDirty(paths []string) {
	for _, path := range paths {
		parent, name := poolSplit(path)
		dir := w.tree.find(parent, false)
		if dir == nil {
			continue
		}
		file, tracked := dir.files[name]
		b := w.batches[parent]
		if !tracked || b != nil && !b.files[name].IsZero() {
			continue
		}
		w.add(dir, parent, name, file.entry)
	}
}

func (w *writer) run(ctx context.Context) error {
	for _, path := range w.removes {
		parent, _ := poolSplit(path)
		w.tree.find(parent, true)
		if err := removePath(w.root, path); err != nil {
			return err
		}
	}
	paths := make([]string, 0, len(w.batches))
	for path := range w.batches {
		w.tree.find(path, true)
		paths = append(paths, path)
	}
	slices.Sort(paths)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(poolWriters)
	for _, path := range paths {
		group.Go(func() error {
			if err := w.write(ctx, path, w.batches[path]); err != nil {
				return fmt.Errorf("write worktree at %q: %w", path, err)
			}
			return nil
		})
	}
	return group.Wait()
}

func (w *writer) write(ctx context.Context, path string, b *batch) error {
	handle, err := w.root.walk(path, true)
	if err != nil {
		return err
	}
	defer handle.close()
	for name, entry := range b.files {
		data, err := w.content(ctx, entry)
		if err != nil {
			return err
		}
		stat, err := handle.put(name, entry.Mode, data)
		if err != nil {
			return err
		}
		b.dir.files[name] = poolFile{entry: entry, state: stateOf(stat)}
	}
	return nil
}

// content reads past the cache of blobs: a checkout must not empty it.
func (w *writer) content(ctx context.Context, entry git.Entry) ([]byte, error) {
	if entry.Mode == git.ModeGitlink {
		return nil, nil
	}
	object, err := w.objects.Read(ctx, entry.OID)
	if err == nil && object.Type != git.TypeBlob {
		err = &git.TypeError{OID: entry.OID, Want: git.TypeBlob, Got: object.Type}
	}
	return object.Data, err
}
