package git

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
)

const (
	defaultReaders        = 2
	defaultMaxObjectBytes = 256 << 20
	defaultCacheBytes     = 96 << 20
)

// Options says how a repository is opened. The zero value serves.
type Options struct {
	// Scratch is where our own bare directory is made and removed again; empty means the system's temporary directory.
	Scratch string
	// GitBinary is the git to run; empty means the one on the path.
	GitBinary string
	// Readers is how many "git cat-file" processes are kept; zero means 2. None is started before it is needed.
	Readers int
	// Logger gets warnings; nil means silence.
	Logger *slog.Logger
	// MaxObjectBytes bounds what one object may take in memory; zero means 256 MiB.
	MaxObjectBytes int64
	// CacheBytes bounds the caches of objects by id; zero means 96 MiB.
	CacheBytes int64
	// UserEnv is the environment of commands in which the user's own settings do apply (WorktreeTree). GIT_* variables
	// in it are dropped. Empty means that only the repository's own settings apply.
	UserEnv []string
}

// Repo is an open repository. It is safe for concurrent use and must be closed.
type Repo struct {
	location
	objectDir string
	binary    string
	version   string
	opt       Options
	log       *slog.Logger
	hermetic  *hermeticDir
	env       []string // neutral, without GIT_DIR
	started   atomic.Int64
	cat       *catFile
	objects   *objectCache
	ancestry  *lru[[2]OID, bool]
	packed    packedRefs

	worktreeTurn chan struct{} // holds one token while worktrees are added or removed
}

var _ Reader = (*Repo)(nil)

// Open opens the repository that dir is in: a worktree or a directory below it, a linked worktree, or a bare
// repository, whoever owns it. What cannot be served exactly is an *UnsupportedError, no repository a
// *NotRepositoryError.
func Open(ctx context.Context, dir string, opt Options) (*Repo, error) {
	where, err := discover(dir)
	if err != nil {
		return nil, err
	}
	r := &Repo{location: where, objectDir: filepath.Join(where.commonDir, "objects"), opt: opt, log: opt.Logger}
	r.worktreeTurn = make(chan struct{}, 1)
	r.setDefaults()
	if r.binary, err = findGit(opt.GitBinary); err != nil {
		return nil, err
	}
	if r.hermetic, err = newHermeticDir(opt.Scratch); err != nil {
		return nil, err
	}
	r.env = neutralEnv(r.binary, r.hermetic.dir)
	if err := r.checkSupported(ctx); err != nil {
		r.hermetic.remove()
		return nil, err
	}
	env := with(r.env, "GIT_DIR="+r.hermetic.dir, "GIT_OBJECT_DIRECTORY="+r.objectDir)
	r.cat = newCatFile(catFileOptions{
		binary: r.binary, dir: r.hermetic.dir, env: env,
		processes: r.opt.Readers, started: &r.started, limit: r.opt.MaxObjectBytes,
	})
	return r, nil
}

func (r *Repo) setDefaults() {
	if r.log == nil {
		r.log = slog.New(slog.DiscardHandler)
	}
	if r.opt.Readers <= 0 {
		r.opt.Readers = defaultReaders
	}
	if r.opt.MaxObjectBytes <= 0 {
		r.opt.MaxObjectBytes = defaultMaxObjectBytes
	}
	if r.opt.CacheBytes <= 0 {
		r.opt.CacheBytes = defaultCacheBytes
	}
	r.objects = newObjectCache(r.opt.CacheBytes)
	r.ancestry = newLRU[[2]OID, bool](1 << 20)
}

func findGit(binary string) (string, error) {
	if binary == "" {
		binary = "git"
	}
	path, err := exec.LookPath(binary)
	if err != nil {
		return "", &UnsupportedError{What: "a machine without git", Hint: "install git 2.38 or newer"}
	}
	return filepath.Abs(path)
}

func (r *Repo) checkSupported(ctx context.Context) error {
	if err := r.checkVersion(ctx); err != nil {
		return err
	}
	if exists(filepath.Join(r.commonDir, "reftable")) {
		return &UnsupportedError{What: "reftable", Hint: "migrate with \"git refs migrate --ref-format=files\""}
	}
	if info, err := os.Stat(filepath.Join(r.commonDir, "shallow")); err == nil && info.Size() > 0 {
		return &UnsupportedError{What: "a shallow clone", Hint: "run \"git fetch --unshallow\""}
	}
	if promisors, err := filepath.Glob(filepath.Join(globQuote(r.objectDir), "pack", "*.promisor")); err != nil || len(promisors) > 0 {
		return unsupportedPartial()
	}
	settings, err := r.localConfig(ctx)
	if err != nil {
		return err
	}
	return checkSettings(settings)
}

func unsupportedPartial() error {
	return &UnsupportedError{What: "a partial clone", Hint: "use a full clone: decisions must not depend on the network"}
}

func globQuote(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

func (r *Repo) checkVersion(ctx context.Context) error {
	out, err := r.run(ctx, command{args: []string{"version"}, dir: r.hermetic.dir, env: r.env})
	if err != nil {
		return err
	}
	r.version = strings.TrimPrefix(strings.TrimSpace(string(out)), "git version ")
	parts := strings.SplitN(r.version, ".", 3)
	if len(parts) < 2 {
		return &UnsupportedError{What: fmt.Sprintf("git version %q", r.version), Hint: "install git 2.38 or newer"}
	}
	major, errMajor := strconv.Atoi(parts[0])
	minor, errMinor := strconv.Atoi(parts[1])
	if errMajor != nil || errMinor != nil || major < 2 || major == 2 && minor < 38 {
		return &UnsupportedError{What: "git " + r.version, Hint: "install git 2.38 or newer"}
	}
	return nil
}

// localConfig reads the repository's own configuration file as git's format check does: without includes.
func (r *Repo) localConfig(ctx context.Context) (map[string]string, error) {
	file := filepath.Join(r.commonDir, "config")
	if !exists(file) {
		return map[string]string{}, nil
	}
	args := []string{"config", "--file", file, "--no-includes", "-z", "--list"}
	out, err := r.run(ctx, command{args: args, dir: r.hermetic.dir, env: with(r.env, "GIT_DIR="+r.hermetic.dir)})
	if err != nil {
		return nil, fmt.Errorf("read repository configuration: %w", err)
	}
	settings := map[string]string{}
	for item := range bytes.SplitSeq(out, []byte{0}) {
		key, value, _ := strings.Cut(string(item), "\n")
		settings[key] = value
	}
	return settings, nil
}

func checkSettings(settings map[string]string) error {
	for key, value := range settings {
		switch {
		case key == "extensions.objectformat" && value != "sha1":
			return &UnsupportedError{What: "object format " + value, Hint: "use a SHA-1 repository"}
		case key == "extensions.refstorage" && value != "files":
			return &UnsupportedError{What: "reference storage " + value, Hint: "use the files format"}
		case key == "extensions.partialclone", strings.HasPrefix(key, "remote.") && strings.HasSuffix(key, ".promisor") && value != "false":
			return unsupportedPartial()
		}
	}
	return nil
}

// Close ends the reading processes and removes our own directory. The repository must not be in use any more.
func (r *Repo) Close() error {
	err := r.cat.close()
	r.hermetic.remove()
	return err
}

// Dir is the top of the worktree, or the bare repository.
func (r *Repo) Dir() string { return r.dir }

// GitDir is the git directory of the worktree that was opened.
func (r *Repo) GitDir() string { return r.gitDir }

// CommonDir is the git directory that all worktrees share.
func (r *Repo) CommonDir() string { return r.commonDir }

// Bare reports whether the repository has no worktree of its own.
func (r *Repo) Bare() bool { return r.bare }

// Version is git's version, such as "2.39.5".
func (r *Repo) Version() string { return r.version }

// Processes is how many git processes were started so far, the long-lived ones included.
func (r *Repo) Processes() int64 { return r.started.Load() }
