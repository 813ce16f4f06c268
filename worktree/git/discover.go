package git

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// location is where a repository keeps its things. All paths are absolute and free of symbolic links.
type location struct {
	dir       string // the worktree's top, or the bare repository
	gitDir    string // what belongs to this worktree: HEAD, index
	commonDir string // what all worktrees share: refs, objects, config
	bare      bool
}

// discover finds the repository that dir is in, as git does: a .git directory, a .git file, or a bare repository,
// at dir or above it.
func discover(dir string) (location, error) {
	start, err := filepath.Abs(dir)
	if err == nil {
		start, err = filepath.EvalSymlinks(start)
	}
	if err != nil {
		return location{}, fmt.Errorf("find repository: %w", err)
	}
	for at := start; ; at = filepath.Dir(at) {
		found, err := tryDiscover(at)
		if err != nil || found.gitDir != "" {
			return found, err
		}
		if at == filepath.Dir(at) {
			return location{}, &NotRepositoryError{Dir: dir}
		}
	}
}

func tryDiscover(at string) (location, error) {
	dotGit := filepath.Join(at, ".git")
	info, err := os.Stat(dotGit)
	switch {
	case err == nil && info.IsDir() && looksLikeGitDir(dotGit):
		return resolveCommon(location{dir: at, gitDir: dotGit})
	case err == nil && info.Mode().IsRegular():
		gitDir, err := readGitFile(dotGit)
		if err != nil {
			return location{}, err
		}
		return resolveCommon(location{dir: at, gitDir: gitDir})
	case looksLikeGitDir(at):
		if filepath.Base(at) == ".git" {
			return resolveCommon(location{dir: filepath.Dir(at), gitDir: at})
		}
		return resolveCommon(location{dir: at, gitDir: at, bare: true})
	}
	return location{}, nil
}

// readGitFile follows a "gitdir: PATH" file of a linked worktree or a submodule.
func readGitFile(file string) (string, error) {
	text, err := os.ReadFile(file) //nolint:gosec // the repository that the caller named
	if err != nil {
		return "", fmt.Errorf("read git file: %w", err)
	}
	target, ok := strings.CutPrefix(strings.TrimRight(string(text), "\r\n"), "gitdir: ")
	if !ok {
		return "", fmt.Errorf("read git file %q: want \"gitdir: PATH\"", file)
	}
	if !filepath.IsAbs(target) {
		target = filepath.Join(filepath.Dir(file), target)
	}
	resolved, err := filepath.EvalSymlinks(target)
	if err != nil {
		return "", fmt.Errorf("follow git file %q: %w", file, err)
	}
	return resolved, nil
}

func resolveCommon(l location) (location, error) {
	l.commonDir = l.gitDir
	text, err := os.ReadFile(filepath.Join(l.gitDir, "commondir"))
	if errors.Is(err, fs.ErrNotExist) {
		return l, nil
	}
	if err != nil {
		return location{}, fmt.Errorf("read commondir: %w", err)
	}
	common := strings.TrimRight(string(text), "\r\n")
	if !filepath.IsAbs(common) {
		common = filepath.Join(l.gitDir, common)
	}
	if l.commonDir, err = filepath.EvalSymlinks(common); err != nil {
		return location{}, fmt.Errorf("follow commondir: %w", err)
	}
	return l, nil
}

func looksLikeGitDir(dir string) bool {
	if _, err := os.Lstat(filepath.Join(dir, "HEAD")); err != nil {
		return false
	}
	if exists(filepath.Join(dir, "commondir")) {
		return true
	}
	return exists(filepath.Join(dir, "objects")) && exists(filepath.Join(dir, "refs"))
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
