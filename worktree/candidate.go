package worktree

import (
	"slices"
	"strings"
	"time"

	"patchd/worktree/git"
)

// The trailer keys of candidate commits.
const (
	TrailerIdentity = "Patch-Identity"
	TrailerBase     = "Patch-Base"
	TrailerDigest   = "Patch-Digest"
	TrailerCheck    = "Required-Check"
)

// CandidateMeta is what a candidate commit says beside its tree and parent.
type CandidateMeta struct {
	Title, Body string
	Author      git.Signature // zero name and email mean patchd; a zero When means BaseDate
	BaseDate    time.Time     // the base commit's committer date
	Trailers    []Trailer     // the final block, in this order
}

// Trailer is one "Key: value" line of a commit message's final block.
type Trailer struct{ Key, Value string }

// Patchd is the committer of everything that patchd makes, and the author where the manifest names none.
func Patchd(when time.Time) git.Signature {
	return git.Signature{Name: "patchd", Email: "patchd@localhost", When: when}
}

// CandidateCommit writes the commit that puts a tree on a parent into ov. Same inputs give the same id on any
// machine: the committer is patchd, one second after the parent's committer, in UTC; the author date is the
// manifest's or the base commit's.
func CandidateCommit(ov *git.Overlay, parent *git.Commit, tree git.OID, meta CandidateMeta) git.OID {
	author := meta.Author
	if author.Name == "" && author.Email == "" {
		author.Name, author.Email = Patchd(author.When).Name, Patchd(author.When).Email
	}
	if author.When.IsZero() {
		author.When = meta.BaseDate
	}
	author.When = author.When.UTC().Truncate(time.Second)
	return ov.PutCommit(git.Commit{
		Tree: tree, Parents: []git.OID{parent.OID}, Author: author,
		Committer: Patchd(parent.Committer.When.UTC().Truncate(time.Second).Add(time.Second)),
		Message:   candidateMessage(meta),
	})
}

// candidateMessage lays out title, body and trailers with one empty line between them.
func candidateMessage(meta CandidateMeta) string {
	parts := []string{strings.TrimSpace(meta.Title)}
	if body := strings.Trim(meta.Body, "\n"); strings.TrimSpace(body) != "" {
		parts = append(parts, strings.TrimRight(body, " \t\r\n"))
	}
	var block []string
	for _, t := range meta.Trailers {
		block = append(block, t.Key+": "+t.Value)
	}
	if len(block) > 0 {
		parts = append(parts, strings.Join(block, "\n"))
	}
	return strings.Join(parts, "\n\n") + "\n"
}

// Trailers reads the final block of a commit message: the last paragraph after the title, when every line of it
// is "Key: value" or continues the line before by beginning with a space. Keys keep their spelling.
func Trailers(message string) []Trailer {
	paragraphs := paragraphsOf(message)
	if len(paragraphs) < 2 {
		return nil
	}
	var out []Trailer
	for _, line := range paragraphs[len(paragraphs)-1] {
		if (line[0] == ' ' || line[0] == '\t') && len(out) > 0 {
			out[len(out)-1].Value += " " + strings.TrimSpace(line)
			continue
		}
		key, value, ok := strings.Cut(line, ":")
		if !ok || !isTrailerKey(key) {
			return nil
		}
		out = append(out, Trailer{Key: key, Value: strings.TrimSpace(value)})
	}
	return out
}

// paragraphsOf splits a message at empty lines.
func paragraphsOf(message string) [][]string {
	var out [][]string
	open := false
	for line := range strings.SplitSeq(message, "\n") {
		line = strings.TrimRight(line, " \t\r")
		if line == "" {
			open = false
			continue
		}
		if !open {
			out = append(out, nil)
			open = true
		}
		out[len(out)-1] = append(out[len(out)-1], line)
	}
	return out
}

// isTrailerKey reports whether a trailer may be called so: letters, digits and dashes.
func isTrailerKey(key string) bool {
	return key != "" && !slices.ContainsFunc([]byte(key), func(c byte) bool {
		return c != '-' && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z')
	})
}
