package sandbox

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// privateDir is a directory on disk for one run, at levels that cannot give a private view: home, temporary files and, when the
// command becomes another user, a copy of the tree that this user owns.
type privateDir struct {
	root string // "" when the level needs none
	tree string // "" when the worktree itself is used
	user int    // 0 keeps the daemon's user
}

// firstUser is where the separate users begin: ids that distributions leave unassigned.
const (
	firstUser = 60600
	userCount = 256
)

// privateDir makes what the level needs. Root gives up its identity where no user namespace takes it away.
func (s *Sandbox) privateDir(spec Spec) (*privateDir, error) {
	d := &privateDir{}
	if os.Geteuid() == 0 && (s.level == Landlock || (s.level == Namespaces && !s.userSpace)) {
		d.user = firstUser + int(s.runs.Add(1)%userCount)
	}
	if d.user == 0 && (s.level == Bubblewrap || s.level == Namespaces) {
		return d, nil
	}
	parent := s.opt.Scratch
	if d.user != 0 && !traversable(parent) {
		parent = os.TempDir()
	}
	var err error
	if d.root, err = os.MkdirTemp(parent, "patchd-check-"); err != nil {
		return nil, fmt.Errorf("make private directory: %w", err)
	}
	if err := d.fill(spec, s.level); err != nil {
		d.remove()
		return nil, err
	}
	return d, nil
}

func (d *privateDir) fill(spec Spec, level Level) error {
	for _, dir := range []string{d.home(), d.temp()} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return fmt.Errorf("make private directory: %w", err)
		}
	}
	if err := os.WriteFile(filepath.Join(d.home(), ".gitconfig"), []byte(gitConfig), 0o600); err != nil {
		return fmt.Errorf("write git configuration: %w", err)
	}
	if level == Landlock || level == Unconfined {
		if err := d.linkMounts(spec.Mounts); err != nil {
			return err
		}
	}
	if d.user == 0 {
		return nil
	}
	d.tree = filepath.Join(d.root, "src")
	if err := copyTree(spec.Dir, d.tree); err != nil {
		return fmt.Errorf("copy worktree: %w", err)
	}
	return d.giveAway()
}

// linkMounts stands in for mounts below the home directory with symbolic links; others keep their own place.
func (d *privateDir) linkMounts(mounts []Mount) error {
	for _, m := range mounts {
		if d.user != 0 && !traversable(m.Source) {
			return fmt.Errorf("show %q: a separate user cannot reach it, and this level has no other way", m.Source)
		}
		rest, ok := strings.CutPrefix(m.Target, Home+"/")
		if !ok {
			continue
		}
		link := filepath.Join(d.home(), rest)
		if err := os.MkdirAll(filepath.Dir(link), 0o700); err != nil {
			return fmt.Errorf("make mount point: %w", err)
		}
		if err := os.Symlink(m.Source, link); err != nil {
			return fmt.Errorf("link mount: %w", err)
		}
	}
	return nil
}

func (d *privateDir) home() string { return filepath.Join(d.root, "home") }
func (d *privateDir) temp() string { return filepath.Join(d.root, "tmp") }

// adapt points the plan at the private directory.
func (d *privateDir) adapt(p *plan, spec Spec) {
	if d.tree != "" {
		p.Dir = d.tree
	}
	p.User, p.Private = d.user, d.root
	p.Disks = []string{p.Dir, d.root}
	p.ReadWrite = []string{p.Dir, d.root}
	p.ReadOnly = systemDirs()
	for _, m := range spec.Mounts {
		if m.Writable {
			p.ReadWrite = append(p.ReadWrite, m.Source)
		} else {
			p.ReadOnly = append(p.ReadOnly, m.Source)
		}
	}
	if d.tree == "" && spec.Git != GitHidden {
		if gitDir, commonDir, err := linkedDirs(filepath.Join(spec.Dir, ".git")); err == nil {
			p.ReadOnly = append(p.ReadOnly, gitDir)
			for _, name := range []string{"HEAD", "packed-refs", "refs", "objects"} {
				p.ReadOnly = append(p.ReadOnly, filepath.Join(commonDir, name))
			}
		}
	}
	env := make(map[string]string, len(p.Env))
	for name, value := range p.Env {
		env[name] = strings.ReplaceAll(value, Home, d.home())
	}
	if _, ok := env["TMPDIR"]; ok {
		env["TMPDIR"] = d.temp()
	}
	p.Env = env
}

// giveAway makes the separate user own everything below the private directory.
func (d *privateDir) giveAway() error {
	err := filepath.WalkDir(d.root, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, d.user, d.user) //nolint:gosec // nobody else can enter the directory yet
	})
	if err != nil {
		return fmt.Errorf("give private directory away: %w", err)
	}
	return nil
}

// remove deletes the directory, also where the command took away its own rights.
func (d *privateDir) remove() {
	if d.root == "" || os.RemoveAll(d.root) == nil {
		return
	}
	_ = filepath.WalkDir(d.root, func(path string, e fs.DirEntry, _ error) error {
		if e != nil && e.IsDir() {
			_ = os.Chmod(path, 0o700) //nolint:gosec // a directory about to be deleted
		}
		return nil
	})
	_ = os.RemoveAll(d.root)
}

// copyTree copies files, directories and symbolic links, without .git.
func copyTree(from, to string) error {
	return filepath.WalkDir(from, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		if rel == ".git" {
			if e.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		return copyEntry(path, filepath.Join(to, rel), e)
	})
}

func copyEntry(from, to string, e fs.DirEntry) error {
	info, err := e.Info()
	if err != nil {
		return err
	}
	switch {
	case e.IsDir():
		return os.Mkdir(to, info.Mode().Perm()|0o700)
	case e.Type()&fs.ModeSymlink != 0:
		target, err := os.Readlink(from)
		if err != nil {
			return err
		}
		return os.Symlink(target, to)
	case e.Type().IsRegular():
		return copyFile(from, to, info.Mode().Perm())
	}
	return nil // sockets and devices are in no tree
}

func copyFile(from, to string, mode fs.FileMode) (err error) {
	src, err := os.Open(from) //nolint:gosec // below the worktree
	if err != nil {
		return err
	}
	defer src.Close()                                                    //nolint:errcheck // only read
	dst, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode) //nolint:gosec // below our own new directory
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dst.Close()) }()
	_, err = io.Copy(dst, src)
	return err
}
