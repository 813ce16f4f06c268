package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// surroundings is what init finds at the top of a repository.
type surroundings struct {
	ecosystems []ecosystem
	changelogs []string
	codeowners string
}

// ecosystem is one way of building and testing: the file that shows it, the commands that a patch may ask for, and those that
// every patch of its sources needs.
type ecosystem struct {
	marker string
	allow  []string
	paths  []string
	run    []string
}

func (s surroundings) names() []string {
	out := []string{}
	for _, e := range s.ecosystems {
		out = append(out, e.marker)
	}
	return append(out, s.changelogs...)
}

// lookAround finds the build files that it knows.
func lookAround(dir string) surroundings {
	var s surroundings
	for _, look := range []func(string) (ecosystem, bool){lookGo, lookNode, lookPython, lookRust, lookMake} {
		if e, ok := look(dir); ok {
			s.ecosystems = append(s.ecosystems, e)
		}
	}
	for _, name := range []string{"CHANGELOG.md", "CHANGES.md", "CHANGES.rst", "HISTORY.md", "NEWS.md"} {
		if isFile(dir, name) {
			s.changelogs = append(s.changelogs, name)
		}
	}
	for _, name := range []string{".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS"} {
		if s.codeowners == "" && isFile(dir, name) {
			s.codeowners = name
		}
	}
	return s
}

func isFile(dir, name string) bool {
	info, err := os.Stat(filepath.Join(dir, name))
	return err == nil && info.Mode().IsRegular()
}

func lookGo(dir string) (ecosystem, bool) {
	return ecosystem{
		marker: "go.mod", allow: []string{"go build ./...", "go vet ./...", "go test **"},
		paths: []string{"**/*.go", "go.mod", "go.sum"}, run: []string{"go build ./...", "go test ./..."},
	}, isFile(dir, "go.mod")
}

func lookNode(dir string) (ecosystem, bool) {
	if !isFile(dir, "package.json") {
		return ecosystem{}, false
	}
	tool := "npm"
	switch {
	case isFile(dir, "pnpm-lock.yaml"):
		tool = "pnpm"
	case isFile(dir, "yarn.lock"):
		tool = "yarn"
	}
	e := ecosystem{marker: "package.json", paths: []string{"**/*.{js,jsx,ts,tsx,mjs,cjs}", "package.json"}}
	var pkg struct {
		Scripts map[string]string `json:"scripts"`
	}
	raw, err := os.ReadFile(filepath.Join(dir, "package.json")) //nolint:gosec // the user's own repository
	if err != nil || json.Unmarshal(raw, &pkg) != nil {
		pkg.Scripts = nil
	}
	if _, ok := pkg.Scripts["test"]; ok {
		e.allow, e.run = append(e.allow, tool+" test", tool+" test -- **"), append(e.run, tool+" test")
	}
	for _, script := range []string{"lint", "typecheck", "build"} {
		if _, ok := pkg.Scripts[script]; ok {
			e.allow = append(e.allow, tool+" run "+script)
		}
	}
	return e, true
}

func lookPython(dir string) (ecosystem, bool) {
	return ecosystem{
		marker: "pyproject.toml", allow: []string{"python3 -m pytest", "python3 -m pytest **"},
		paths: []string{"**/*.py", "pyproject.toml"}, run: []string{"python3 -m pytest"},
	}, isFile(dir, "pyproject.toml")
}

func lookRust(dir string) (ecosystem, bool) {
	return ecosystem{
		marker: "Cargo.toml", allow: []string{"cargo check **", "cargo clippy **", "cargo test **"},
		paths: []string{"**/*.rs", "**/Cargo.toml", "Cargo.lock"}, run: []string{"cargo test"},
	}, isFile(dir, "Cargo.toml")
}

// lookMake takes the targets that a Makefile declares by the names that people give to checks.
func lookMake(dir string) (ecosystem, bool) {
	f, err := os.Open(filepath.Join(dir, "Makefile")) //nolint:gosec // the user's own repository
	if err != nil {
		return ecosystem{}, false
	}
	defer func() { _ = f.Close() }()
	e := ecosystem{marker: "Makefile"}
	known := []string{"check", "test", "lint", "build"}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		name, _, ok := strings.Cut(lines.Text(), ":")
		if ok && slices.Contains(known, strings.TrimSpace(name)) && !slices.Contains(e.allow, "make "+strings.TrimSpace(name)) {
			e.allow = append(e.allow, "make "+strings.TrimSpace(name))
		}
	}
	return e, true
}

// starterPolicy is a policy for what was found, with the choices that it makes explained.
func starterPolicy(s surroundings) string {
	var b strings.Builder
	p := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	p("# What patchd asks of patches. The file at the guarded branch's tip counts, never the one in a patch.")
	p("version: 1")
	p("checks:")
	p("  # Commands that a patch may ask for, matched argument by argument: * is one argument, ** is any number.")
	p("  allow: %s", yamlList(s.allowed()))
	p("  # Commands that every patch needs that touches these paths. They run confined, without a network.")
	if rules := s.rules(); len(rules) == 0 {
		p("  rules: []")
	} else {
		p("  rules:")
		for _, e := range rules {
			p("    - paths: %s\n      run: %s", yamlList(e.paths), yamlList(e.run))
		}
	}
	p("  timeout: 10m")
	p("  confirm: 0   # how often a pass is run again")
	p("  env: []      # names of variables that are passed through; everything else is cleared")
	p("# Who approves changes of these paths; the last rule that matches wins.%s", ownersNote(s.codeowners))
	p("owners: []")
	p("# same_symbol: review, dependent or allow. coupled: report or review.")
	p("ownership: {same_symbol: review, coupled: report}")
	p("# Files in which lines that two patches insert at one place stand side by side.")
	p("merge: {union: %s}", yamlList(s.changelogs))
	return b.String()
}

func (s surroundings) allowed() []string {
	var out []string
	for _, e := range s.ecosystems {
		out = append(out, e.allow...)
	}
	return out
}

func (s surroundings) rules() []ecosystem {
	var out []ecosystem
	for _, e := range s.ecosystems {
		if len(e.run) > 0 {
			out = append(out, e)
		}
	}
	return out
}

func ownersNote(codeowners string) string {
	if codeowners == "" {
		return ""
	}
	return " " + codeowners + " is read as well."
}

// yamlList writes strings in the flow style; JSON strings are YAML.
func yamlList(list []string) string {
	parts := make([]string, len(list))
	for i, s := range list {
		quoted, err := json.Marshal(s)
		if err != nil { // strings cannot fail
			quoted = []byte(`""`)
		}
		parts[i] = string(quoted)
	}
	return "[" + strings.Join(parts, ", ") + "]"
}
