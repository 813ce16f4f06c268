package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

const maxSymrefs = 5

// RefValue is a reference with the object that it names.
type RefValue struct {
	Ref Ref
	OID OID
}

// Valid reports whether r is a full reference name that git would accept (git-check-ref-format), or HEAD.
func (r Ref) Valid() bool {
	if r == "HEAD" {
		return true
	}
	if !strings.HasPrefix(string(r), "refs/") || strings.HasSuffix(string(r), ".") ||
		strings.Contains(string(r), "..") || strings.Contains(string(r), "@{") {
		return false
	}
	for _, c := range []byte(r) {
		if c <= ' ' || c == 0x7f || strings.IndexByte(`~^:?*[\`, c) >= 0 {
			return false
		}
	}
	for part := range strings.SplitSeq(string(r), "/") {
		if part == "" || part[0] == '.' || strings.HasSuffix(part, ".lock") {
			return false
		}
	}
	return true
}

// Resolve reads a reference by its exact full name; abbreviations mean nothing here. Symbolic references are followed.
// The answer is false where it does not exist, or names a branch without a commit.
func (r *Repo) Resolve(_ context.Context, ref Ref) (OID, bool, error) {
	if !ref.Valid() {
		return "", false, fmt.Errorf("resolve reference %q: not a full reference name", string(ref))
	}
	at := ref
	for range maxSymrefs {
		value, err := r.readRef(at)
		if err != nil || value == "" {
			return "", false, err
		}
		target, symbolic := strings.CutPrefix(value, "ref: ")
		if !symbolic {
			return OID(value), true, nil
		}
		if at = Ref(strings.TrimSpace(target)); !at.Valid() {
			break
		}
	}
	return "", false, fmt.Errorf("resolve reference %q: broken symbolic reference", string(ref))
}

// RefStamp is a string that changes when a reference does, read without a process: cheap enough to poll.
// It is empty while the reference does not exist.
func (r *Repo) RefStamp(ctx context.Context, ref Ref) (string, error) {
	id, _, err := r.Resolve(ctx, ref)
	return string(id), err
}

// readRef gives "ref: NAME", an object id, or nothing. A reference that is packed just now is in one place or the
// other: looking at the loose one again after the packed ones closes the gap.
func (r *Repo) readRef(ref Ref) (string, error) {
	for range 2 {
		value, err := r.readLooseRef(ref)
		if err != nil || value != "" {
			return value, err
		}
		packed, err := r.packed.read(r.commonDir)
		if err != nil {
			return "", err
		}
		if id := packed.find(ref); id != "" {
			return string(id), nil
		}
	}
	return "", nil
}

func (r *Repo) refFile(ref Ref) string {
	for _, own := range []string{"refs/worktree/", "refs/bisect/", "refs/rewritten/"} {
		if ref == "HEAD" || strings.HasPrefix(string(ref), own) {
			return filepath.Join(r.gitDir, string(ref))
		}
	}
	return filepath.Join(r.commonDir, string(ref))
}

func (r *Repo) readLooseRef(ref Ref) (string, error) {
	file := r.refFile(ref)
	data, err := os.ReadFile(file) //nolint:gosec // a checked reference name inside the git directory
	if err != nil {
		if info, statErr := os.Stat(file); errors.Is(err, fs.ErrNotExist) || isNotDirectory(err) || (statErr == nil && info.IsDir()) {
			return "", nil
		}
		return "", fmt.Errorf("read reference: %w", err)
	}
	value := strings.TrimRight(string(data), "\r\n\t ")
	if strings.HasPrefix(value, "ref: ") || OID(value).Valid() {
		return value, nil
	}
	return "", fmt.Errorf("read reference %q: %q is no object id", string(ref), value)
}

// ListRefs gives the references below a prefix such as "refs/patchd/", sorted by name. Symbolic ones are resolved, those
// that lead nowhere left out; a reference file without an object id is an error.
func (r *Repo) ListRefs(ctx context.Context, prefix Ref) ([]RefValue, error) {
	names := map[Ref]bool{}
	if err := r.looseRefs(prefix, names); err != nil {
		return nil, err
	}
	packed, err := r.packed.read(r.commonDir)
	if err != nil {
		return nil, err
	}
	packed.list(prefix, names)
	sorted := make([]Ref, 0, len(names))
	for name := range names {
		sorted = append(sorted, name)
	}
	slices.Sort(sorted)
	var values []RefValue
	for _, name := range sorted {
		id, found, err := r.Resolve(ctx, name)
		if err != nil {
			return nil, fmt.Errorf("list references: %w", err)
		}
		if found {
			values = append(values, RefValue{Ref: name, OID: id})
		}
	}
	return values, nil
}

func (r *Repo) looseRefs(prefix Ref, names map[Ref]bool) error {
	root := filepath.Join(r.commonDir, filepath.Dir(string(prefix)+"x"))
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			return err
		}
		name, err := filepath.Rel(r.commonDir, path)
		if ref := Ref(filepath.ToSlash(name)); err == nil && ref.Valid() && strings.HasPrefix(string(ref), string(prefix)) {
			names[ref] = true
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("list references: %w", err)
	}
	return nil
}

// packedRefs is the parsed-on-demand "packed-refs" file, read again when it was replaced.
type packedRefs struct {
	mu   sync.Mutex
	info os.FileInfo
	data packedData
}

// packedData is the file with a newline before its first line.
type packedData []byte

func (p *packedRefs) read(commonDir string) (packedData, error) {
	file := filepath.Join(commonDir, "packed-refs")
	p.mu.Lock()
	defer p.mu.Unlock()
	info, err := os.Stat(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read packed references: %w", err)
	}
	if p.info != nil && os.SameFile(info, p.info) && info.Size() == p.info.Size() && info.ModTime().Equal(p.info.ModTime()) {
		return p.data, nil
	}
	data, err := os.ReadFile(file) //nolint:gosec // git's own file
	if err != nil {
		return nil, fmt.Errorf("read packed references: %w", err)
	}
	p.info, p.data = info, append([]byte("\n"), data...)
	return p.data, nil
}

func (d packedData) find(ref Ref) OID {
	at := bytes.Index(d, []byte(" "+string(ref)+"\n"))
	if at < 41 || d[at-41] != '\n' {
		return ""
	}
	if id := OID(d[at-40 : at]); id.Valid() {
		return id
	}
	return ""
}

func (d packedData) list(prefix Ref, names map[Ref]bool) {
	for line := range bytes.Lines(d) {
		line = bytes.TrimRight(line, "\n")
		if len(line) > 41 && line[40] == ' ' && bytes.HasPrefix(line[41:], []byte(prefix)) {
			names[Ref(line[41:])] = true
		}
	}
}
