package coordinator

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"patchd/worktree/git"
)

// Identity is the SHA-256 of a canonical manifest without its operational fields: what a patch is. Two submissions with
// one identity are one patch.
type Identity Digest

// Short is the first 12 digits, for people.
func (i Identity) Short() string { return string(i[:min(12, len(i))]) }

// PatchID is a label for people; it need not be unique and never orders or decides.
type PatchID string

// Manifest is what a submitter says of a patch. The first six fields are required, owned hunks and checks may be empty lists.
type Manifest struct {
	PatchID        PatchID     `json:"patch_id"`
	BaseCommit     git.OID     `json:"base_commit"`
	Paths          []string    `json:"paths"`
	OwnedHunks     []OwnedHunk `json:"owned_hunks"`
	RequiredChecks []string    `json:"required_checks"`
	DiffSHA256     Digest      `json:"diff_sha256"`

	Repo            string         `json:"repo,omitempty"`
	Target          string         `json:"target,omitempty"`
	Title           string         `json:"title,omitempty"`
	Body            string         `json:"message,omitempty"`
	Author          *Author        `json:"author,omitempty"`
	DependsOn       []string       `json:"depends_on,omitempty"`
	Supersedes      []string       `json:"supersedes,omitempty"`
	ClientRequestID string         `json:"client_request_id,omitempty"`
	OnConflict      string         `json:"on_conflict,omitempty"`
	Metadata        jsontext.Value `json:"metadata,omitempty"`
}

// OwnedHunk claims lines Start to End (1-based, inclusive) of Path at the base.
type OwnedHunk struct {
	Path   string `json:"path"`
	Start  int    `json:"start"`
	End    int    `json:"end"`
	Symbol string `json:"symbol,omitempty"`
}

// Author is whom the candidate commit names. Date is RFC 3339; empty means the base commit's committer date.
type Author struct {
	Name  string `json:"name"`
	Email string `json:"email"`
	Date  string `json:"date,omitempty"`
}

// ParseManifest reads one JSON document strictly: unknown fields, duplicate or differently spelt keys, wrong types, a second
// document, bad UTF-8 and sizes out of range are refused by name, as a *Refusal with code manifest_malformed.
func ParseManifest(raw []byte) (*Manifest, error) {
	if len(raw) > MaxManifest {
		return nil, malformed("", strconv.Itoa(len(raw)), "the manifest is larger than %d bytes", MaxManifest)
	}
	if err := checkDepth(raw); err != nil {
		return nil, err
	}
	m := &Manifest{}
	if err := json.Unmarshal(raw, m, json.RejectUnknownMembers(true)); err != nil {
		return nil, jsonRefusal(err)
	}
	if err := requireCore(raw); err != nil {
		return nil, err
	}
	if err := m.Validate(); err != nil {
		return nil, err
	}
	return m, nil
}

// maxDepth bounds nesting; only metadata nests at all.
const maxDepth = 32

func checkDepth(raw []byte) error {
	depth, inString, escaped := 0, false, false
	for _, c := range raw {
		switch {
		case escaped:
			escaped = false
		case inString:
			escaped, inString = c == '\\', c != '"'
		case c == '"':
			inString = true
		case c == '{' || c == '[':
			if depth++; depth > maxDepth {
				return malformed("", "", "the manifest nests deeper than %d levels", maxDepth)
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return nil
}

func jsonRefusal(err error) error {
	var semantic *json.SemanticError
	if errors.As(err, &semantic) {
		r := malformed(string(semantic.JSONPointer), string(semantic.JSONValue), "%v", plainJSON(err))
		return r
	}
	var syntax *jsontext.SyntacticError
	if errors.As(err, &syntax) {
		return malformed(string(syntax.JSONPointer), "", "%v", plainJSON(err))
	}
	return malformed("", "", "%v", plainJSON(err))
}

// plainJSON drops the package names that the decoder puts before its messages.
func plainJSON(err error) string {
	s := err.Error()
	for _, prefix := range []string{"json: ", "jsontext: "} {
		s = strings.ReplaceAll(s, prefix, "")
	}
	return s
}

// requireCore refuses a manifest that leaves a core field out or gives it as null.
func requireCore(raw []byte) error {
	var present map[string]jsontext.Value
	if err := json.Unmarshal(raw, &present); err != nil {
		return jsonRefusal(err)
	}
	for _, name := range []string{"patch_id", "base_commit", "paths", "owned_hunks", "required_checks", "diff_sha256"} {
		if v, ok := present[name]; !ok || v.Kind() == 'n' {
			return malformed("/"+name, "", "field %q is missing", name)
		}
	}
	return nil
}

func malformed(field, value, format string, args ...any) *Refusal {
	return &Refusal{Code: CodeManifestMalformed, Field: field, Value: value, Message: fmt.Sprintf(format, args...), Hint: "correct the manifest and send it again"}
}

// identityForm is the manifest as identity sees it: sorted, and without what is operational.
type identityForm struct {
	BaseCommit     git.OID     `json:"base_commit"`
	Paths          []string    `json:"paths"`
	OwnedHunks     []OwnedHunk `json:"owned_hunks"`
	RequiredChecks []string    `json:"required_checks"`
	DiffSHA256     Digest      `json:"diff_sha256"`
	Repo           string      `json:"repo,omitempty"`
	Target         string      `json:"target,omitempty"`
	Title          string      `json:"title,omitempty"`
	Body           string      `json:"message,omitempty"`
	Author         *Author     `json:"author,omitempty"`
	DependsOn      []string    `json:"depends_on,omitempty"`
	Supersedes     []string    `json:"supersedes,omitempty"`
}

// Identity digests what the patch is. Lists are sets, so their order does not matter; the default target may be left out
// or named, short or in full; dates count to the second and in UTC.
func (m *Manifest) Identity() (Identity, error) {
	form := identityForm{
		BaseCommit: m.BaseCommit, Paths: sortedSet(m.Paths), OwnedHunks: sortedHunks(m.OwnedHunks), RequiredChecks: sortedSet(canonicalCommands(m.RequiredChecks)),
		DiffSHA256: m.DiffSHA256, Repo: m.Repo, Title: m.Title, Body: m.Body, DependsOn: sortedSet(m.DependsOn), Supersedes: sortedSet(m.Supersedes),
	}
	if t := strings.TrimPrefix(m.Target, "refs/heads/"); t != DefaultTarget {
		form.Target = t
	}
	if m.Author != nil {
		a := *m.Author
		if when, err := time.Parse(time.RFC3339, a.Date); err == nil {
			a.Date = when.UTC().Truncate(time.Second).Format(time.RFC3339)
		}
		form.Author = &a
	}
	d, err := DigestOf(form)
	return Identity(d), err
}

// DefaultTarget is the branch that a manifest means when it names none.
const DefaultTarget = "main"

// TargetRef is the full name of the branch that the manifest is for, fallback where it names none.
func (m *Manifest) TargetRef(fallback git.Ref) git.Ref {
	if m.Target == "" {
		return fallback
	}
	return git.Ref("refs/heads/" + strings.TrimPrefix(m.Target, "refs/heads/"))
}

// TitleOr is the title, or the contract's default for a patch without one.
func (m *Manifest) TitleOr(id Identity) string {
	if m.Title != "" {
		return m.Title
	}
	return "patch " + id.Short()
}

func canonicalCommands(lines []string) []string {
	out := make([]string, len(lines))
	for i, line := range lines {
		out[i] = sameCommand(line)
	}
	return out
}

func sortedSet(in []string) []string {
	out := slices.Clone(in)
	slices.Sort(out)
	return slices.Compact(out)
}

func sortedHunks(in []OwnedHunk) []OwnedHunk {
	out := slices.Clone(in)
	slices.SortFunc(out, compareHunks)
	return slices.Compact(out)
}
