package coordinator

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Digest is a SHA-256 in 64 lower-case hexadecimal digits.
type Digest string

var digestForm = regexp.MustCompile(`^[0-9a-f]{64}$`)

// Valid reports whether d has the form of a SHA-256.
func (d Digest) Valid() bool { return digestForm.MatchString(string(d)) }

// SHA256 digests bytes as they are.
func SHA256(b []byte) Digest {
	sum := sha256.Sum256(b)
	return Digest(hex.EncodeToString(sum[:]))
}

// Canonical is v as canonical JSON (RFC 8785): members sorted by UTF-16 code units, no white space, one spelling for each
// number and string. Equal values give equal bytes on every machine.
func Canonical(v any) ([]byte, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("marshal %T: %w", v, err)
	}
	value := jsontext.Value(raw)
	if err := value.Canonicalize(); err != nil {
		return nil, fmt.Errorf("canonicalize %T: %w", v, err)
	}
	return value, nil
}

// DigestOf is the SHA-256 of v's canonical JSON.
func DigestOf(v any) (Digest, error) {
	b, err := Canonical(v)
	if err != nil {
		return "", err
	}
	return SHA256(b), nil
}
