package repro

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"patchd/coordinator"
)

// Patch is one patch of the set, with the exact bytes that are handed in.
type Patch struct {
	Name     string // of its directory
	Manifest []byte
	Diff     []byte

	identity coordinator.Identity
	label    coordinator.PatchID
}

// Identity is what the patch is; empty before Admit.
func (p *Patch) Identity() coordinator.Identity { return p.identity }

// ReadPatches reads DIR/*/manifest.json and DIR/*/patch.diff.
func ReadPatches(dir string) ([]Patch, error) {
	found, err := filepath.Glob(filepath.Join(dir, "*", "manifest.json"))
	if err != nil {
		return nil, fmt.Errorf("look for patches: %w", err)
	}
	var out []Patch
	for _, file := range found {
		p := Patch{Name: filepath.Base(filepath.Dir(file))}
		if p.Manifest, err = os.ReadFile(file); err != nil { //nolint:gosec // the caller names the directory
			return nil, fmt.Errorf("read patch %q: %w", p.Name, err)
		}
		if p.Diff, err = os.ReadFile(filepath.Join(filepath.Dir(file), "patch.diff")); err != nil {
			return nil, fmt.Errorf("read patch %q: %w", p.Name, err)
		}
		out = append(out, p)
	}
	return out, nil
}

// admit fills in what the patches are, and sorts them by it. One that a coordinator would refuse is an error.
func admit(patches []Patch) ([]Patch, error) {
	out := slices.Clone(patches)
	for i := range out {
		s, err := coordinator.Admit(out[i].Manifest, out[i].Diff)
		if err != nil {
			return nil, fmt.Errorf("patch %q: %w", out[i].Name, err)
		}
		out[i].identity, out[i].label = s.Identity, s.Manifest.PatchID
	}
	slices.SortFunc(out, func(a, b Patch) int { return compare(a.identity, b.identity) })
	out = slices.CompactFunc(out, func(a, b Patch) bool { return a.identity == b.identity })
	if len(out) == 0 {
		return nil, fmt.Errorf("there are no patches")
	}
	return out, nil
}

func compare(a, b coordinator.Identity) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// with is the manifest with some fields replaced.
func (p *Patch) with(fields map[string]any) ([]byte, error) {
	manifest := map[string]json.RawMessage{}
	if err := json.Unmarshal(p.Manifest, &manifest); err != nil {
		return nil, fmt.Errorf("read manifest of %q: %w", p.Name, err)
	}
	out := map[string]any{}
	for name, raw := range manifest {
		out[name] = raw
	}
	maps.Copy(out, fields)
	raw, err := json.Marshal(out)
	if err != nil {
		return nil, fmt.Errorf("write manifest of %q: %w", p.Name, err)
	}
	return raw, nil
}

// namesOthers reports whether a patch refers to another one, perhaps by its label: labels then stay as they are.
func namesOthers(patches []Patch) bool {
	return slices.ContainsFunc(patches, func(p Patch) bool {
		m, err := coordinator.ParseManifest(p.Manifest)
		return err == nil && len(m.DependsOn)+len(m.Supersedes) > 0
	})
}
