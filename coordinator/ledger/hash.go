package ledger

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"github.com/gowebpki/jcs"
)

// entryHead is what an entry's hash covers. Fields are in canonical (RFC 8785) order of their keys.
type entryHead struct {
	CreatedAt         string `json:"created_at"`
	Kind              Kind   `json:"kind"`
	OperationalSHA256 Digest `json:"operational_sha256"`
	PayloadSHA256     Digest `json:"payload_sha256"`
	PrevHash          Digest `json:"prev_hash"`
	Seq               Seq    `json:"seq"`
	Target            string `json:"target"`
}

// HashEntry gives the hash of e within the chain called chainName (Target.ChainName): the SHA-256 of the canonical
// JSON of its place, kind, time, previous hash and the digests of its two payloads. It ignores e.Hash.
func HashEntry(chainName string, e RecordedEntry) (Digest, error) {
	raw, err := Canonical(entryHead{
		CreatedAt: e.CreatedAt.UTC().Format(time.RFC3339Nano),
		Kind:      e.Kind, OperationalSHA256: e.OperationalSHA256, PayloadSHA256: e.PayloadSHA256,
		PrevHash: e.PrevHash, Seq: e.Seq, Target: chainName,
	})
	if err != nil {
		return "", err
	}
	return SHA256(raw), nil
}

// Canonical gives the canonical JSON (RFC 8785) of v.
func Canonical(v any) ([]byte, error) {
	var raw bytes.Buffer
	enc := json.NewEncoder(&raw)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("encode canonical JSON: %w", err)
	}
	out, err := jcs.Transform(raw.Bytes())
	if err != nil {
		return nil, fmt.Errorf("encode canonical JSON: %w", err)
	}
	return out, nil
}

// SHA256 gives the digest of data.
func SHA256(data []byte) Digest {
	sum := sha256.Sum256(data)
	return Digest(hex.EncodeToString(sum[:]))
}
