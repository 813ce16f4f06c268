package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// gitOps shows or hides the repository that a worktree belongs to. Shown, it is read-only and without configuration, hooks and logs:
// a remote's URL can hold a token, and none of the three belongs to the tree.
func gitOps(spec Spec) ([]viewOp, error) {
	dotGit := filepath.Join(spec.Dir, ".git")
	st, err := os.Lstat(dotGit)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("inspect worktree: %w", err)
	case st.Mode()&fs.ModeSymlink != 0:
		return nil, errors.New("inspect worktree: .git is a symbolic link")
	case st.IsDir():
		return plainGitOps(dotGit, spec.Git), nil
	case spec.Git == GitHidden:
		return []viewOp{{Kind: opBindRO, Source: devNull, Target: Checkout + "/.git"}}, nil
	}
	gitDir, commonDir, err := linkedDirs(dotGit)
	if err != nil {
		return nil, err
	}
	ops := []viewOp{{Kind: opBindRO, Source: dotGit, Target: Checkout + "/.git"}}
	ops = append(ops, viewOp{Kind: opTmpfs, Target: commonDir, Size: smallSize})
	for _, name := range []string{"HEAD", "packed-refs", "refs", "objects"} {
		path := filepath.Join(commonDir, name)
		if _, err := os.Lstat(path); err == nil {
			ops = append(ops, viewOp{Kind: opBindRO, Source: path, Target: path})
		}
	}
	if gitDir != commonDir {
		ops = append(ops, viewOp{Kind: opBindRO, Source: gitDir, Target: gitDir})
	}
	ops = append(ops, viewOp{Kind: opFreeze, Target: commonDir})
	for _, dir := range alternates(filepath.Join(commonDir, "objects"), 0) {
		ops = append(ops, viewOp{Kind: opBindRO, Source: dir, Target: dir})
	}
	return ops, nil
}

// plainGitOps serves a worktree whose .git is the repository itself.
func plainGitOps(dotGit string, access GitAccess) []viewOp {
	target := Checkout + "/.git"
	if access == GitHidden {
		return []viewOp{{Kind: opTmpfs, Target: target, Size: smallSize}, {Kind: opFreeze, Target: target}}
	}
	ops := []viewOp{{Kind: opBindRO, Source: dotGit, Target: target}}
	for _, name := range []string{"hooks", "logs"} {
		if st, err := os.Lstat(filepath.Join(dotGit, name)); err == nil && st.IsDir() {
			place := filepath.Join(target, name)
			ops = append(ops, viewOp{Kind: opTmpfs, Target: place, Size: smallSize}, viewOp{Kind: opFreeze, Target: place})
		}
	}
	if st, err := os.Lstat(filepath.Join(dotGit, "config")); err == nil && st.Mode().IsRegular() {
		ops = append(ops, viewOp{Kind: opBindRO, Source: devNull, Target: filepath.Join(target, "config")})
	}
	for _, dir := range alternates(filepath.Join(dotGit, "objects"), 0) {
		ops = append(ops, viewOp{Kind: opBindRO, Source: dir, Target: dir})
	}
	return ops
}

// linkedDirs follows a linked worktree's .git file to its own directory and to the repository's (gitrepository-layout).
func linkedDirs(dotGit string) (gitDir, commonDir string, err error) {
	text, err := os.ReadFile(dotGit) //nolint:gosec // the caller's own worktree
	if err != nil {
		return "", "", fmt.Errorf("read worktree link: %w", err)
	}
	target, ok := strings.CutPrefix(strings.TrimRight(string(text), "\r\n"), "gitdir: ")
	if !ok {
		return "", "", fmt.Errorf("read worktree link: %q names no git directory", dotGit)
	}
	if gitDir, err = resolve(filepath.Dir(dotGit), target); err != nil {
		return "", "", fmt.Errorf("follow worktree link: %w", err)
	}
	text, err = os.ReadFile(filepath.Join(gitDir, "commondir")) //nolint:gosec // as above
	if errors.Is(err, fs.ErrNotExist) {
		return gitDir, gitDir, nil
	}
	if err != nil {
		return "", "", fmt.Errorf("read commondir: %w", err)
	}
	if commonDir, err = resolve(gitDir, strings.TrimRight(string(text), "\r\n")); err != nil {
		return "", "", fmt.Errorf("follow commondir: %w", err)
	}
	return gitDir, commonDir, nil
}

func resolve(base, path string) (string, error) {
	if !filepath.IsAbs(path) {
		path = filepath.Join(base, path)
	}
	return filepath.EvalSymlinks(path)
}

// alternates lists the object directories that objects borrows from, as git follows them.
func alternates(objects string, depth int) []string {
	const deepest = 5
	text, err := os.ReadFile(filepath.Join(objects, "info", "alternates")) //nolint:gosec // the repository's own file
	if err != nil || depth == deepest {
		return nil
	}
	var out []string
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, "\n")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if dir, err := resolve(objects, line); err == nil {
			out = append(append(out, dir), alternates(dir, depth+1)...)
		}
	}
	return out
}
