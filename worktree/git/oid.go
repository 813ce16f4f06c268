package git

import (
	"crypto/sha1" //nolint:gosec // git's object format is SHA-1; ids name objects, they guard no secret
	"encoding/hex"
	"fmt"
	"strconv"
)

// Valid reports whether o is a full object id: 40 lower-case hexadecimal digits.
func (o OID) Valid() bool {
	if len(o) != 40 {
		return false
	}
	for i := range len(o) {
		if c := o[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// IsZero reports whether o names no object: empty or all zeros.
func (o OID) IsZero() bool { return o == "" || o == ZeroOID }

// ParseOID takes exactly a full object id; abbreviations and reference names are refused.
func ParseOID(s string) (OID, error) {
	if o := OID(s); o.Valid() {
		return o, nil
	}
	return "", fmt.Errorf("parse object id %q: want 40 lower-case hexadecimal digits", s)
}

// HashObject is the id that git gives to an object of type t with body data.
func HashObject(t ObjectType, data []byte) OID {
	sum := hashObject(t, data)
	return OID(hex.EncodeToString(sum[:]))
}

func hashObject(t ObjectType, data []byte) (sum [sha1.Size]byte) {
	h := sha1.New() //nolint:gosec // git's object format
	h.Write(objectHeader(t, len(data)))
	h.Write(data)
	h.Sum(sum[:0])
	return sum
}

func objectHeader(t ObjectType, size int) []byte {
	header := make([]byte, 0, 32)
	header = append(header, t...)
	header = append(header, ' ')
	header = strconv.AppendInt(header, int64(size), 10)
	return append(header, 0)
}

func (o OID) raw() (sum [sha1.Size]byte, err error) {
	if !o.Valid() {
		return sum, fmt.Errorf("encode object id %q: want 40 lower-case hexadecimal digits", string(o))
	}
	_, err = hex.Decode(sum[:], []byte(o))
	return sum, err
}
