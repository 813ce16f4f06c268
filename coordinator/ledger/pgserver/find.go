package pgserver

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sort"
	"strconv"
	"strings"
)

// binaries is a directory with PostgreSQL's programs, and their major version.
type binaries struct {
	dir   string
	major int
}

func (b binaries) path(program string) string { return filepath.Join(b.dir, program) }

// programs finds the programs: those that made the cluster when there is one, else the first of the ones named
// in Options, on PATH, in the usual places (newest first), and fetched ones.
func (s *Server) programs(ctx context.Context) (binaries, error) {
	need, err := clusterMajor(s.place.cluster())
	if err != nil {
		return binaries{}, err
	}
	if s.opt.Binaries != "" {
		found, ok := s.probe(ctx, s.opt.Binaries, need)
		if !ok {
			return binaries{}, fmt.Errorf("%q does not hold PostgreSQL's programs of the right version: %w", s.opt.Binaries, &NotFoundError{Major: need})
		}
		return found, nil
	}
	for _, dir := range candidates() {
		if found, ok := s.probe(ctx, dir, need); ok {
			return found, nil
		}
	}
	return s.fetched(ctx, need)
}

// probe reports whether dir holds programs that the server's account can run, of major version need if not zero.
func (s *Server) probe(ctx context.Context, dir string, need int) (binaries, bool) {
	program, err := filepath.EvalSymlinks(filepath.Join(dir, "postgres"))
	if err != nil || !s.account.canEnter(filepath.Dir(program)) {
		return binaries{}, false
	}
	found := binaries{dir: dir}
	if _, err := os.Stat(found.path("initdb")); err != nil {
		return binaries{}, false
	}
	out, err := exec.CommandContext(ctx, found.path("postgres"), "--version").Output() //nolint:gosec // one of a fixed list of places, or the caller's
	if err != nil {
		return binaries{}, false
	}
	found.major = parseMajor(string(out))
	return found, found.major != 0 && (need == 0 || need == found.major)
}

// parseMajor reads the major version from the output of postgres --version; zero when there is none.
func parseMajor(version string) int {
	digits := regexp.MustCompile(`\) ([0-9]+)`).FindStringSubmatch(version)
	if digits == nil {
		return 0
	}
	major, err := strconv.Atoi(digits[1])
	if err != nil {
		return 0
	}
	return major
}

// clusterMajor is the major version that made the cluster; zero when there is no cluster.
func clusterMajor(cluster string) (int, error) {
	text, err := os.ReadFile(filepath.Join(cluster, "PG_VERSION")) //nolint:gosec // the server's own directory
	if os.IsNotExist(err) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read version of cluster: %w", err)
	}
	major, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return 0, fmt.Errorf("read version of cluster: %w", err)
	}
	return major, nil
}

// candidates lists directories that may hold the programs, best first.
func candidates() []string {
	var dirs []string
	if path, err := exec.LookPath("postgres"); err == nil {
		dirs = append(dirs, filepath.Dir(path))
	}
	for _, pattern := range []string{
		"/usr/lib/postgresql/*/bin",
		"/usr/pgsql-*/bin",
		"/usr/libexec/postgresql*",
		"/opt/homebrew/opt/postgresql@*/bin",
		"/usr/local/opt/postgresql@*/bin",
		"/opt/homebrew/opt/postgresql/bin",
		"/usr/local/pgsql/bin",
		"/Applications/Postgres.app/Contents/Versions/*/bin",
	} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			continue
		}
		sort.Slice(found, func(i, j int) bool { return versionIn(found[i]) > versionIn(found[j]) })
		dirs = append(dirs, found...)
	}
	return dirs
}

// versionIn is the last number in a path, as a version to sort by.
func versionIn(path string) int {
	numbers := regexp.MustCompile(`[0-9]+`).FindAllString(path, -1)
	if len(numbers) == 0 {
		return 0
	}
	version, err := strconv.Atoi(numbers[len(numbers)-1])
	if err != nil {
		return 0
	}
	return version
}

// Find gives the directory and major version of the programs that Start would use for a new cluster, without
// fetching or starting any: a *NotFoundError when none are installed.
func Find(ctx context.Context, opt Options) (dir string, major int, err error) {
	who, err := serverAccount()
	if err != nil {
		return "", 0, err
	}
	s := &Server{opt: opt.withDefaults(), account: who}
	dirs := candidates()
	if opt.Binaries != "" {
		dirs = []string{opt.Binaries}
	}
	for _, dir := range dirs {
		if found, ok := s.probe(ctx, dir, 0); ok {
			return found.dir, found.major, nil
		}
	}
	return "", 0, &NotFoundError{}
}
