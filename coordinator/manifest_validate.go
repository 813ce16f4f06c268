package coordinator

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"patchd/checks"
	"patchd/worktree"
)

// Bounds on a manifest's lists and texts, in entries and bytes.
const (
	maxPaths   = 20_000
	maxHunks   = 20_000
	maxChecks  = 100
	maxLinks   = 1_000
	maxTitle   = 1_000
	maxBody    = 100_000
	maxName    = 256
	maxLine    = 1<<31 - 1
	maxKey     = 200
	trailerSep = ":"
)

var (
	patchIDForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)
	oidForm     = regexp.MustCompile(`^[0-9a-f]{40}$`)
)

// Valid reports whether the label has the form that the contract gives it.
func (p PatchID) Valid() bool { return patchIDForm.MatchString(string(p)) }

// The trailers of a candidate commit.
const (
	TrailerIdentity = worktree.TrailerIdentity
	TrailerBase     = worktree.TrailerBase
	TrailerDigest   = worktree.TrailerDigest
	TrailerCheck    = worktree.TrailerCheck
)

// Validate checks every field against the contract and returns the first fault, in the order of the fields.
func (m *Manifest) Validate() error {
	for _, check := range []func() *Refusal{m.checkCore, m.checkLists, m.checkText, m.checkAuthor, m.checkLinks, m.checkRest} {
		if r := check(); r != nil {
			return r
		}
	}
	return nil
}

func (m *Manifest) checkCore() *Refusal {
	switch {
	case !m.PatchID.Valid():
		return malformed("/patch_id", string(m.PatchID), "patch_id %q does not match %s", m.PatchID, patchIDForm)
	case !oidForm.MatchString(string(m.BaseCommit)):
		return malformed("/base_commit", string(m.BaseCommit), "base_commit %q is not a full object id of 40 lower-case hexadecimal digits", m.BaseCommit)
	case !m.DiffSHA256.Valid():
		return malformed("/diff_sha256", string(m.DiffSHA256), "diff_sha256 %q is not 64 lower-case hexadecimal digits", m.DiffSHA256)
	}
	return nil
}

func (m *Manifest) checkLists() *Refusal {
	switch {
	case len(m.Paths) > maxPaths:
		return malformed("/paths", "", "more than %d paths", maxPaths)
	case len(m.OwnedHunks) > maxHunks:
		return malformed("/owned_hunks", "", "more than %d owned hunks", maxHunks)
	case len(m.RequiredChecks) > maxChecks:
		return malformed("/required_checks", "", "more than %d required checks", maxChecks)
	}
	seen := map[string]bool{}
	for i, p := range m.Paths {
		if p == "" || seen[p] {
			return malformed(fmt.Sprintf("/paths/%d", i), p, "path %q is empty or named twice", p)
		}
		seen[p] = true
	}
	for i, h := range m.OwnedHunks {
		field := fmt.Sprintf("/owned_hunks/%d", i)
		switch {
		case h.Path == "":
			return malformed(field+"/path", "", "an owned hunk needs a path")
		case h.Start < 1 || h.Start > maxLine:
			return malformed(field+"/start", fmt.Sprint(h.Start), "start %d is not a line number from 1", h.Start)
		case h.End < h.Start || h.End > maxLine:
			return malformed(field+"/end", fmt.Sprint(h.End), "end %d is not a line number from start %d on", h.End, h.Start)
		case !printable(h.Symbol, false):
			return malformed(field+"/symbol", h.Symbol, "symbol %q holds control characters", h.Symbol)
		}
	}
	for i, line := range m.RequiredChecks {
		if _, err := checks.ParseCommand(line); err != nil {
			return malformed(fmt.Sprintf("/required_checks/%d", i), line, "required check %q is not one command: %v", line, err)
		}
	}
	return nil
}

func (m *Manifest) checkText() *Refusal {
	switch {
	case len(m.Title) > maxTitle || !printable(m.Title, false):
		return malformed("/title", m.Title, "the title must be one line of at most %d bytes without control characters", maxTitle)
	case strings.TrimSpace(m.Title) != m.Title:
		return malformed("/title", m.Title, "the title begins or ends with white space")
	case len(m.Body) > maxBody || !printable(m.Body, true):
		return malformed("/message", "", "the body must have at most %d bytes and no control characters but newline and tab", maxBody)
	}
	for _, part := range []struct{ field, text string }{{"/title", m.Title}, {"/message", m.Body}} {
		for line := range strings.SplitSeq(part.text, "\n") {
			if looksLikeTrailer(line) {
				return malformed(part.field, line, "line %q begins like a trailer that patchd writes itself", line)
			}
		}
	}
	return nil
}

func looksLikeTrailer(line string) bool {
	key, _, ok := strings.Cut(strings.TrimSpace(line), trailerSep)
	if !ok {
		return false
	}
	key = strings.TrimSpace(key)
	for _, own := range []string{TrailerIdentity, TrailerBase, TrailerDigest, TrailerCheck} {
		if strings.EqualFold(key, own) {
			return true
		}
	}
	return false
}

func (m *Manifest) checkAuthor() *Refusal {
	a := m.Author
	if a == nil {
		return nil
	}
	for _, part := range []struct{ field, text string }{{"/author/name", a.Name}, {"/author/email", a.Email}} {
		if strings.Trim(part.text, " .,:;<>\"'") == "" || len(part.text) > maxName || !printable(part.text, false) || strings.ContainsAny(part.text, "<>") {
			return malformed(part.field, part.text, "%q cannot stand in a commit's author line", part.text)
		}
	}
	if a.Date == "" {
		return nil
	}
	when, err := time.Parse(time.RFC3339, a.Date)
	if err != nil || when.Unix() < 0 {
		return malformed("/author/date", a.Date, "author date %q is not RFC 3339 from 1970 on", a.Date)
	}
	return nil
}

func (m *Manifest) checkLinks() *Refusal {
	for _, list := range []struct {
		field string
		ids   []string
	}{{"/depends_on", m.DependsOn}, {"/supersedes", m.Supersedes}} {
		if len(list.ids) > maxLinks {
			return malformed(list.field, "", "more than %d entries", maxLinks)
		}
		for i, id := range list.ids {
			if !Digest(id).Valid() && !PatchID(id).Valid() {
				return malformed(fmt.Sprintf("%s/%d", list.field, i), id, "%q is neither an identity nor a patch_id", id)
			}
		}
	}
	return nil
}

func (m *Manifest) checkRest() *Refusal {
	switch {
	case m.Target != "" && !validBranch(strings.TrimPrefix(m.Target, "refs/heads/")):
		return malformed("/target", m.Target, "target %q is not a branch name", m.Target)
	case m.Repo != "" && !patchIDForm.MatchString(m.Repo):
		return malformed("/repo", m.Repo, "repo %q is not a repository name", m.Repo)
	case len(m.ClientRequestID) > maxKey || !printable(m.ClientRequestID, false):
		return malformed("/client_request_id", m.ClientRequestID, "client_request_id must have at most %d bytes and no control characters", maxKey)
	case m.OnConflict != "" && m.OnConflict != "fail" && m.OnConflict != "merge":
		return malformed("/on_conflict", m.OnConflict, "on_conflict %q is neither fail nor merge", m.OnConflict)
	case len(m.Metadata) > 0 && m.Metadata.Kind() != '{':
		return malformed("/metadata", "", "metadata is not an object")
	}
	return nil
}

// validBranch follows git-check-ref-format(1) for one branch name.
func validBranch(name string) bool {
	if name == "" || len(name) > maxName || strings.HasPrefix(name, "-") || name == "@" || name == "HEAD" ||
		strings.HasSuffix(name, ".") || strings.Contains(name, "..") || strings.Contains(name, "@{") || !printable(name, false) ||
		strings.ContainsAny(name, " ~^:?*[\\") {
		return false
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || strings.HasPrefix(part, ".") || strings.HasSuffix(part, ".lock") {
			return false
		}
	}
	return true
}

// printable reports whether s is UTF-8 without control or format characters; text may hold newlines and tabs.
func printable(s string, text bool) bool {
	if !utf8.ValidString(s) {
		return false
	}
	return !strings.ContainsFunc(s, func(r rune) bool {
		if text && (r == '\n' || r == '\t') {
			return false
		}
		return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' || unicode.Is(unicode.Bidi_Control, r)
	})
}

func compareHunks(a, b OwnedHunk) int {
	return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Start, b.Start), cmp.Compare(a.End, b.End), cmp.Compare(a.Symbol, b.Symbol))
}
