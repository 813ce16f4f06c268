package ownership

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// OwnerRule names who must approve changes to the paths that one of its globs matches.
type OwnerRule struct {
	Paths     []string
	Approvers []string
}

// Owners is an ordered list of owner rules, of which the last that matches a path counts. It is immutable.
type Owners struct{ rules []OwnerRule }

// PatternError is a glob that cannot be read.
type PatternError struct {
	Pattern string
	Line    int
}

// Error names the pattern, and the line of a CODEOWNERS file.
func (e *PatternError) Error() string {
	if e.Line > 0 {
		return fmt.Sprintf("line %d: pattern %q is malformed", e.Line, e.Pattern)
	}
	return fmt.Sprintf("pattern %q is malformed", e.Pattern)
}

// NewOwners builds the rules of a policy. Rules of a CODEOWNERS file go before it, so that the policy has the last
// word. A malformed glob is a *PatternError.
func NewOwners(codeowners, policy []OwnerRule) (*Owners, error) {
	o := &Owners{rules: slices.Concat(codeowners, policy)}
	for _, r := range o.rules {
		for _, p := range r.Paths {
			if !doublestar.ValidatePattern(p) {
				return nil, &PatternError{Pattern: p}
			}
		}
	}
	return o, nil
}

// Required gives the approvers of a path, sorted: those of the last rule that matches. Any one of them suffices. A
// last rule without approvers frees the path.
func (o *Owners) Required(path string) []string {
	if o == nil {
		return nil
	}
	for _, rule := range slices.Backward(o.rules) {
		if matchesAny(rule.Paths, path) {
			approvers := slices.Clone(rule.Approvers)
			slices.Sort(approvers)
			return slices.Compact(approvers)
		}
	}
	return nil
}

// Approval is one set of approvers with the paths that need one of them.
type Approval struct {
	Approvers []string
	Paths     []string
}

// Approvals groups paths by who must approve them; paths without an owner are left out. It is sorted.
func (o *Owners) Approvals(paths []string) []Approval {
	groups := map[string]*Approval{}
	for _, p := range paths {
		who := o.Required(p)
		if len(who) == 0 {
			continue
		}
		key := strings.Join(who, "\x00")
		if groups[key] == nil {
			groups[key] = &Approval{Approvers: who}
		}
		groups[key].Paths = append(groups[key].Paths, p)
	}
	list := make([]Approval, 0, len(groups))
	for _, a := range groups {
		slices.Sort(a.Paths)
		a.Paths = slices.Compact(a.Paths)
		list = append(list, *a)
	}
	slices.SortFunc(list, func(a, b Approval) int {
		return cmp.Or(slices.Compare(a.Approvers, b.Approvers), slices.Compare(a.Paths, b.Paths))
	})
	return list
}

func matchesAny(globs []string, path string) bool {
	for _, g := range globs {
		if ok, err := doublestar.Match(g, path); err == nil && ok {
			return true
		}
	}
	return false
}

// CodeownersPaths are the places at which a CODEOWNERS file is looked for; the first that exists counts.
func CodeownersPaths() []string {
	return []string{".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS"}
}

// ParseCodeowners reads a CODEOWNERS file: a pattern and its owners a line, comments, and "\ " for a space. It
// follows GitHub's documented reading of the gitignore syntax: no negation, no character ranges. Section headers
// of GitLab's dialect are skipped; the owners that they name for lines without any count for those.
func ParseCodeowners(text []byte) ([]OwnerRule, error) {
	var rules []OwnerRule
	var section []string
	for i, raw := range bytes.Split(text, []byte{'\n'}) {
		fields := codeownersFields(string(raw))
		if len(fields) == 0 {
			continue
		}
		if owners, ok := sectionHeader(fields); ok {
			section = owners
			continue
		}
		globs, ok := codeownersGlobs(fields[0])
		if !ok {
			return nil, &PatternError{Pattern: fields[0], Line: i + 1}
		}
		approvers := fields[1:]
		if len(approvers) == 0 {
			approvers = section
		}
		rules = append(rules, OwnerRule{Paths: globs, Approvers: approvers})
	}
	return rules, nil
}

// codeownersFields splits a line at spacing that no backslash protects, up to a comment.
func codeownersFields(line string) []string {
	var fields []string
	var b strings.Builder
	flush := func() {
		if b.Len() > 0 {
			fields = append(fields, b.String())
			b.Reset()
		}
	}
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == '\\' && i+1 < len(line) && (line[i+1] == ' ' || line[i+1] == '#'):
			i++
			b.WriteByte(line[i])
		case c == ' ' || c == '\t' || c == '\r':
			flush()
		case c == '#' && b.Len() == 0:
			return fields
		default:
			b.WriteByte(c)
		}
	}
	flush()
	return fields
}

// sectionHeader reads GitLab's "[Name]", "^[Name]" and "[Name][2] @owner".
func sectionHeader(fields []string) ([]string, bool) {
	if !strings.HasPrefix(strings.TrimPrefix(fields[0], "^"), "[") {
		return nil, false
	}
	for i, f := range fields {
		if strings.HasSuffix(f, "]") {
			return fields[i+1:], true
		}
	}
	return nil, false
}

// codeownersGlobs turns a gitignore-style pattern into globs over whole paths: one for the path itself, one for
// everything below it.
func codeownersGlobs(pattern string) ([]string, bool) {
	if strings.HasPrefix(pattern, "!") || strings.ContainsAny(pattern, "[]") {
		return nil, false
	}
	directory := strings.HasSuffix(pattern, "/")
	body := strings.TrimSuffix(pattern, "/")
	anchored := strings.Contains(body, "/")
	body = strings.TrimPrefix(body, "/")
	if body == "" {
		return []string{"**"}, directory
	}
	body = strings.NewReplacer("{", `\{`, "}", `\}`).Replace(body)
	if !anchored {
		body = "**/" + body
	}
	below := body + "/**"
	switch {
	case strings.HasSuffix(body, "/**"), body == "**":
		return []string{body}, doublestar.ValidatePattern(body)
	case directory:
		return []string{below}, doublestar.ValidatePattern(below)
	case anchored && strings.HasSuffix(body, "/*"):
		return []string{body}, doublestar.ValidatePattern(body) // a star does not reach into directories
	}
	return []string{body, below}, doublestar.ValidatePattern(below)
}

// Invariant is what several files hold together: two changes that touch different files of one are reviewed
// unless its own check passed on both together.
type Invariant struct {
	Name  string
	Paths []string
	// Run is the invariant's check, or empty.
	Run string
}

// Shared is an invariant that two changes touch in different files.
type Shared struct {
	Name, Run   string
	Left, Right []string
}

// SharedInvariants finds the invariants of which the two sides touch different files, sorted by name.
func SharedInvariants(invariants []Invariant, left, right []string) []Shared {
	var list []Shared
	for _, inv := range invariants {
		l, r := matching(inv.Paths, left), matching(inv.Paths, right)
		if len(l) == 0 || len(r) == 0 || len(l) == 1 && slices.Equal(l, r) {
			continue
		}
		list = append(list, Shared{Name: inv.Name, Run: inv.Run, Left: l, Right: r})
	}
	slices.SortFunc(list, func(a, b Shared) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Run, b.Run)) })
	return list
}

func matching(globs, paths []string) []string {
	var list []string
	for _, p := range paths {
		if matchesAny(globs, p) {
			list = append(list, p)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}
