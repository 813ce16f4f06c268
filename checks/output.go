package checks

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"strconv"
	"sync"
	"unicode"
	"unicode/utf8"
)

// DefaultOutputBytes is how much output is kept when a request does not say.
const DefaultOutputBytes = 256 << 10

// Output is what a run printed: the digest and length of everything, and as much of its beginning and end as the limit allows.
// The bytes are never interpreted; use [Excerpt] to show them.
type Output struct {
	Kept      []byte // head, then tail; complete when Truncated is false
	Truncated bool
	HeadBytes int    // how much of Kept is head when Truncated
	SHA256    string // of all bytes, also those not kept
	Bytes     int64  // of all bytes
}

// collector keeps the first and the last half of a limit, and digests everything. It is safe for concurrent use.
type collector struct {
	mu    sync.Mutex
	sum   hash.Hash
	total int64
	head  []byte
	limit int    // of the head; the tail's is the same
	tail  []byte // a ring once it is full
	next  int    // where the ring is written next
}

func newCollector(limit int) *collector {
	if limit <= 0 {
		limit = DefaultOutputBytes
	}
	half := max(limit/2, 1)
	return &collector{sum: sha256.New(), limit: half}
}

// Write never fails and never keeps more than the limit.
func (c *collector) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := len(p)
	c.total += int64(n)
	_, _ = c.sum.Write(p) // a hash never fails
	if room := c.limit - len(c.head); room > 0 {
		take := min(room, len(p))
		c.head = append(c.head, p[:take]...)
		p = p[take:]
	}
	c.keepTail(p)
	return n, nil
}

func (c *collector) keepTail(p []byte) {
	if len(p) > c.limit {
		p = p[len(p)-c.limit:]
	}
	if room := c.limit - len(c.tail); room > 0 {
		take := min(room, len(p))
		c.tail = append(c.tail, p[:take]...)
		p = p[take:]
	}
	for len(p) > 0 {
		n := copy(c.tail[c.next:], p)
		c.next = (c.next + n) % c.limit
		p = p[n:]
	}
}

// output returns what was collected.
func (c *collector) output() Output {
	c.mu.Lock()
	defer c.mu.Unlock()
	kept := bytes.Clone(c.head)
	kept = append(kept, c.tail[c.next:]...)
	kept = append(kept, c.tail[:c.next]...)
	return Output{
		Kept:      kept,
		Truncated: c.total > int64(len(kept)),
		HeadBytes: len(c.head),
		SHA256:    hex.EncodeToString(c.sum.Sum(nil)),
		Bytes:     c.total,
	}
}

// Excerpt shows at most limit bytes of the end of out as text that is safe to print anywhere: control characters, escape sequences,
// bidirectional overrides and bytes that are no UTF-8 are written as \x1b, \u202e, \xff. Newlines and tabs stay. HTML is not its business.
func Excerpt(out []byte, limit int) string {
	cut := 0
	if limit >= 0 && len(out) > limit {
		cut = len(out) - limit
		for cut < len(out) && !utf8.RuneStart(out[cut]) {
			cut++
		}
		out = out[cut:]
	}
	var b bytes.Buffer
	if cut > 0 {
		fmt.Fprintf(&b, "[%d bytes left out]\n", cut)
	}
	for len(out) > 0 {
		r, n := utf8.DecodeRune(out)
		writeSafe(&b, r, out[:n])
		out = out[n:]
	}
	return b.String()
}

func writeSafe(b *bytes.Buffer, r rune, raw []byte) {
	switch {
	case r == '\n' || r == '\t' || (unicode.IsPrint(r) && (r != utf8.RuneError || len(raw) > 1)):
		b.Write(raw)
	case r == utf8.RuneError || r < utf8.RuneSelf:
		for _, c := range raw {
			fmt.Fprintf(b, `\x%02x`, c)
		}
	case r <= 0xffff:
		fmt.Fprintf(b, `\u%04x`, r)
	default:
		b.WriteString(`\U` + fmt.Sprintf("%08s", strconv.FormatInt(int64(r), 16)))
	}
}
