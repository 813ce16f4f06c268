package checks

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/gowebpki/jcs"
)

// Environment is the set of variables that a check sees, by name. It is enumerated in the evidence and part of the verdict's key.
type Environment map[string]string

// Names lists the variables in order.
func (e Environment) Names() []string { return slices.Sorted(maps.Keys(e)) }

// Digests gives, for each name, the SHA-256 (hex) of its value: what is recorded instead of values that may be secret.
func (e Environment) Digests() map[string]string {
	out := make(map[string]string, len(e))
	for name, value := range e {
		sum := sha256.Sum256([]byte(value))
		out[name] = hex.EncodeToString(sum[:])
	}
	return out
}

// Key is the SHA-256 (hex) of the environment alone, in the same canonical form that [Key] uses.
func (e Environment) Key() (string, error) { return canonicalDigest(e.Digests()) }

// Key names a question: one tree, one argument vector, one environment. It is the SHA-256 (hex) of the canonical JSON (RFC 8785) of
// {"args": […], "env": {name: sha256 of value}, "tree": "…"}. Equal keys have one verdict.
func Key(tree string, args []string, env Environment) (string, error) {
	return canonicalDigest(map[string]any{"tree": tree, "args": args, "env": env.Digests()})
}

func canonicalDigest(v any) (string, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return "", fmt.Errorf("encode check key: %w", err)
	}
	canonical, err := jcs.Transform(raw)
	if err != nil {
		return "", fmt.Errorf("canonicalise check key: %w", err)
	}
	sum := sha256.Sum256(canonical)
	return hex.EncodeToString(sum[:]), nil
}
