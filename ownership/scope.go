package ownership

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"patchd/ownership/symbols"
)

// Loading decides which files a comparison reads: the ones that both sides touch always, and of the others those
// that can refer to what the other side changed.
type Loading struct{ languages *symbols.Languages }

// NewLoading gives a Loading; it is immutable.
func NewLoading() *Loading { return &Loading{languages: symbols.NewLanguages()} }

// Files chooses from the paths that the two sides touch. Files that both touch come first and are all in. Then come
// at most limit of those that one side alone touches: in a programming language of which the other side touches a
// file too, those in a directory that the other side touches before others, then by path. The choice does not
// depend on which side is which.
func (l *Loading) Files(left, right []string, limit int) []string {
	lefts, rights := l.survey(left), l.survey(right)
	var shared []string
	var others []candidate
	for p := range lefts.paths {
		if rights.paths[p] {
			shared = append(shared, p)
		} else {
			others = l.consider(others, p, rights)
		}
	}
	for p := range rights.paths {
		if !lefts.paths[p] {
			others = l.consider(others, p, lefts)
		}
	}
	slices.Sort(shared)
	slices.SortFunc(others, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.distance, b.distance), cmp.Compare(a.path, b.path))
	})
	for _, c := range others[:min(len(others), limit)] {
		shared = append(shared, c.path)
	}
	return shared
}

type candidate struct {
	path     string
	distance int
}

// survey is what one side touches.
type survey struct {
	paths, dirs, roots map[string]bool
	families           map[symbols.Language]bool
}

func (l *Loading) survey(paths []string) *survey {
	s := &survey{paths: map[string]bool{}, dirs: map[string]bool{}, roots: map[string]bool{}, families: map[symbols.Language]bool{}}
	for _, p := range paths {
		s.paths[p] = true
		s.dirs[path.Dir(p)] = true
		s.roots[root(p)] = true
		if lang := l.languages.Of(p); refersToOthers(lang) {
			s.families[family(lang)] = true
		}
	}
	return s
}

func root(p string) string {
	before, _, _ := strings.Cut(p, "/")
	return before
}

func (l *Loading) consider(list []candidate, p string, other *survey) []candidate {
	lang := l.languages.Of(p)
	if !refersToOthers(lang) || !other.families[family(lang)] {
		return list
	}
	distance := 2
	switch {
	case other.dirs[path.Dir(p)]:
		distance = 0
	case other.roots[root(p)]:
		distance = 1
	}
	return append(list, candidate{p, distance})
}

// refersToOthers leaves out languages of data and text, whose files name nothing in each other.
func refersToOthers(l symbols.Language) bool {
	switch l {
	case "", "json", "yaml", "toml", "markdown", "html", "css", "svelte", "dockerfile", "hcl", "cue", "sql", "protobuf":
		return false
	}
	return true
}
