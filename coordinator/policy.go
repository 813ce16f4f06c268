package coordinator

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"
	"go.yaml.in/yaml/v3"

	"patchd/checks"
)

// PolicyPath is where a repository keeps its policy; the file at the target commit counts, never the patch's own.
const PolicyPath = ".patchd.yml"

// Policy is what a repository asks of patches. The zero value is a repository without a policy file.
type Policy struct {
	Version    int             `yaml:"version"`
	Checks     CheckPolicy     `yaml:"checks"`
	Owners     []OwnerRule     `yaml:"owners"`
	Invariants []Invariant     `yaml:"invariants"`
	Ownership  OwnershipPolicy `yaml:"ownership"`
	Merge      MergePolicy     `yaml:"merge"`
	Submodules SubmodulePolicy `yaml:"submodules"`
	Rounds     RoundPolicy     `yaml:"rounds"`
}

// CheckPolicy says what may and must be run. Allow patterns are matched argument by argument: "*" is one argument, "**"
// any number. Confirm is how often a pass is run again; Retries how often a run without a verdict is tried again.
type CheckPolicy struct {
	Allow   []string    `yaml:"allow"`
	Rules   []CheckRule `yaml:"rules"`
	Timeout Duration    `yaml:"timeout"`
	Confirm int         `yaml:"confirm"`
	Retries *int        `yaml:"retries"`
	Env     []string    `yaml:"env"`
}

// CheckRule attaches commands to paths touched by a patch or since its base.
type CheckRule struct {
	Paths []string `yaml:"paths"`
	Run   []string `yaml:"run"`
}

// OwnerRule names who approves changes of paths; the last rule that matches a path wins, as in CODEOWNERS.
type OwnerRule struct {
	Paths     []string `yaml:"paths"`
	Approvers []string `yaml:"approvers"`
}

// Invariant is a property that several files keep together; Run is the check that may show that it still holds.
type Invariant struct {
	Name  string   `yaml:"name"`
	Paths []string `yaml:"paths"`
	Run   string   `yaml:"run"`
}

// OwnershipPolicy tunes structural conflicts. SameSymbol: review (default), dependent, allow. Coupled: report (default), review.
type OwnershipPolicy struct {
	SameSymbol string `yaml:"same_symbol"`
	Coupled    string `yaml:"coupled"`
}

// MergePolicy names files in which whole-line insertions at one gap stand side by side.
type MergePolicy struct {
	Union []string `yaml:"union"`
}

// SubmodulePolicy names the paths at which a patch may change a submodule.
type SubmodulePolicy struct {
	Allow []string `yaml:"allow"`
}

// RoundPolicy governs rounds that seal and land by themselves; everything is off by default.
type RoundPolicy struct {
	AutoSeal     bool     `yaml:"auto_seal"`
	AutoLand     bool     `yaml:"auto_land"`
	MaxPatches   int      `yaml:"max_patches"`
	Settle       Duration `yaml:"settle"`
	MaxBlameRuns int      `yaml:"max_blame_runs"`
}

// Duration is a time.Duration written as Go writes it, such as 10m.
type Duration time.Duration

// UnmarshalYAML reads a duration from a string such as "90s".
func (d *Duration) UnmarshalYAML(node *yaml.Node) error {
	v, err := time.ParseDuration(node.Value)
	if err != nil || v < 0 {
		return fmt.Errorf("line %d: %q is not a duration such as 10m", node.Line, node.Value)
	}
	*d = Duration(v)
	return nil
}

// Defaults and bounds of the check policy.
const (
	DefaultCheckTimeout = 10 * time.Minute
	MaxCheckTimeout     = 24 * time.Hour
	DefaultCheckRetries = 2
	maxPolicy           = 1 << 20 // bytes
)

// ParsePolicy reads a policy file strictly; nil or no bytes is a repository without one. The error names line and field.
func ParsePolicy(raw []byte) (*Policy, error) {
	p := &Policy{}
	if raw == nil {
		return p.withDefaults(), nil
	}
	if len(raw) > maxPolicy {
		return nil, fmt.Errorf("%s is larger than %d bytes", PolicyPath, maxPolicy)
	}
	dec := yaml.NewDecoder(bytes.NewReader(raw))
	dec.KnownFields(true)
	if err := dec.Decode(p); err != nil {
		return nil, fmt.Errorf("%s: %s", PolicyPath, strings.TrimPrefix(err.Error(), "yaml: "))
	}
	if err := dec.Decode(&yaml.Node{}); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: holds a second document", PolicyPath)
	}
	if err := p.validate(); err != nil {
		return nil, fmt.Errorf("%s: %w", PolicyPath, err)
	}
	return p.withDefaults(), nil
}

func (p *Policy) withDefaults() *Policy {
	if p.Checks.Timeout == 0 {
		p.Checks.Timeout = Duration(DefaultCheckTimeout)
	}
	if p.Checks.Retries == nil {
		n := DefaultCheckRetries
		p.Checks.Retries = &n
	}
	if p.Ownership.SameSymbol == "" {
		p.Ownership.SameSymbol = "review"
	}
	if p.Ownership.Coupled == "" {
		p.Ownership.Coupled = "report"
	}
	return p
}

func (p *Policy) validate() error {
	if p.Version != 1 {
		return fmt.Errorf("version: %d is not a version that this patchd knows (1)", p.Version)
	}
	if err := p.Checks.validate(); err != nil {
		return err
	}
	if err := p.validateGlobs(); err != nil {
		return err
	}
	for i, o := range p.Owners {
		if len(o.Approvers) == 0 || len(o.Paths) == 0 {
			return fmt.Errorf("owners[%d]: needs paths and approvers", i)
		}
	}
	for i, inv := range p.Invariants {
		if inv.Name == "" || len(inv.Paths) == 0 {
			return fmt.Errorf("invariants[%d]: needs a name and paths", i)
		}
		if inv.Run != "" {
			if _, err := checks.ParseCommand(inv.Run); err != nil {
				return fmt.Errorf("invariants[%d].run: %w", i, err)
			}
		}
	}
	if !oneOf(p.Ownership.SameSymbol, "", "review", "dependent", "allow") {
		return fmt.Errorf("ownership.same_symbol: %q is none of review, dependent, allow", p.Ownership.SameSymbol)
	}
	if !oneOf(p.Ownership.Coupled, "", "report", "review") {
		return fmt.Errorf("ownership.coupled: %q is neither report nor review", p.Ownership.Coupled)
	}
	if p.Rounds.MaxPatches < 0 || p.Rounds.MaxBlameRuns < 0 {
		return errors.New("rounds: max_patches and max_blame_runs must not be negative")
	}
	return nil
}

func (p *Policy) validateGlobs() error {
	lists := []struct {
		field string
		globs []string
	}{{"merge.union", p.Merge.Union}, {"submodules.allow", p.Submodules.Allow}}
	for i, r := range p.Checks.Rules {
		lists = append(lists, struct {
			field string
			globs []string
		}{fmt.Sprintf("checks.rules[%d].paths", i), r.Paths})
	}
	for i, r := range p.Owners {
		lists = append(lists, struct {
			field string
			globs []string
		}{fmt.Sprintf("owners[%d].paths", i), r.Paths})
	}
	for i, r := range p.Invariants {
		lists = append(lists, struct {
			field string
			globs []string
		}{fmt.Sprintf("invariants[%d].paths", i), r.Paths})
	}
	for _, l := range lists {
		for _, g := range l.globs {
			if g == "" || !doublestar.ValidatePattern(g) {
				return fmt.Errorf("%s: %q is not a path pattern", l.field, g)
			}
		}
	}
	return nil
}

func oneOf(s string, set ...string) bool { return slices.Contains(set, s) }

// matchesAny reports whether any glob matches the path. Patterns were validated when the policy was read.
func matchesAny(globs []string, path string) bool {
	for _, g := range globs {
		if ok, err := doublestar.Match(g, path); err == nil && ok {
			return true
		}
	}
	return false
}
