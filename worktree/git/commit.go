package git

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// ParseCommit reads the body of a commit object; headers that it does not know (signatures, encodings) are passed over.
// The message is everything after the first empty line, as it stands.
func ParseCommit(id OID, data []byte) (*Commit, error) {
	c := &Commit{OID: id}
	head, message, _ := bytes.Cut(data, []byte("\n\n"))
	c.Message = string(message)
	for line := range strings.SplitSeq(string(head), "\n") {
		key, value, _ := strings.Cut(line, " ")
		if err := c.setHeader(key, value); err != nil {
			return nil, err
		}
	}
	if c.Tree == "" || c.Author.When.IsZero() || c.Committer.When.IsZero() {
		return nil, &MalformedError{OID: id, Type: TypeCommit, Why: "tree, author or committer is missing"}
	}
	return c, nil
}

func (c *Commit) setHeader(key, value string) (err error) {
	switch key {
	case "tree":
		if c.Tree == "" {
			c.Tree, err = ParseOID(value)
		}
	case "parent":
		var parent OID
		parent, err = ParseOID(value)
		c.Parents = append(c.Parents, parent)
	case "author":
		if c.Author.When.IsZero() {
			c.Author, err = parseSignature(value)
		}
	case "committer":
		if c.Committer.When.IsZero() {
			c.Committer, err = parseSignature(value)
		}
	}
	if err != nil {
		return &MalformedError{OID: c.OID, Type: TypeCommit, Why: fmt.Sprintf("%s %q", key, value)}
	}
	return nil
}

// parseSignature reads "Name <email> seconds zone". Dates that real histories hold but that are broken
// (no zone, no number) become the epoch, as git shows them.
func parseSignature(s string) (Signature, error) {
	open := strings.IndexByte(s, '<')
	end := strings.LastIndexByte(s, '>')
	if open < 0 || end < open {
		return Signature{}, fmt.Errorf("parse signature %q", s)
	}
	sig := Signature{Name: strings.TrimSuffix(s[:open], " "), Email: s[open+1 : end]}
	stamp, zone, _ := strings.Cut(strings.TrimSpace(s[end+1:]), " ")
	seconds, err := strconv.ParseInt(stamp, 10, 64)
	if err != nil {
		seconds = 0
	}
	sig.When = time.Unix(seconds, 0).In(parseZone(zone))
	return sig, nil
}

func parseZone(zone string) *time.Location {
	number, err := strconv.Atoi(zone)
	if err != nil || len(zone) != 5 {
		return time.UTC
	}
	minutes := number/100*60 + number%100
	return time.FixedZone("", minutes*60)
}

// EncodeCommit is the body of the commit object, byte for byte what "git commit-tree" writes from the same values:
// angle brackets, newlines and NUL in names are dropped, the zone of a date is kept. OID is not used.
func EncodeCommit(c Commit) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "tree %s\n", c.Tree)
	for _, parent := range c.Parents {
		fmt.Fprintf(&b, "parent %s\n", parent)
	}
	fmt.Fprintf(&b, "author %s\ncommitter %s\n\n", c.Author, c.Committer)
	b.WriteString(c.Message)
	return b.Bytes()
}

// String is the signature as commit objects hold it.
func (s Signature) String() string {
	return fmt.Sprintf("%s <%s> %d %s", withoutCrud(s.Name), withoutCrud(s.Email), s.When.Unix(), s.When.Format("-0700"))
}

// withoutCrud drops what git drops from names: brackets and line ends anywhere, punctuation and space at the ends.
func withoutCrud(s string) string {
	s = strings.TrimFunc(s, func(r rune) bool { return r <= ' ' || strings.ContainsRune(`.,:;<>"\'`, r) })
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune("<>\n\x00", r) {
			return -1
		}
		return r
	}, s)
}
