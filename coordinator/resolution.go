package coordinator

import (
	"cmp"
	"slices"

	"patchd/worktree/git"
)

// Action is what a person does with an open record.
type Action string

// The actions. Submit, reject and comment are recorded facts that no rule looks up: the first admits a patch that supersedes,
// the second takes one out of the set, the third decides nothing.
const (
	ActionAccept  Action = "accept"  // the mechanical merge, or a command without a verdict, or a contended pair together
	ActionChoose  Action = "choose"  // this patch goes ahead, the named others stay
	ActionApprove Action = "approve" // for owner rules
	ActionSubmit  Action = "submit"
	ActionReject  Action = "reject"
	ActionReopen  Action = "reopen" // decide again what has landed and was taken back
	ActionComment Action = "comment"
)

// Resolution is one entry of R: an explicit input of decisions. It holds wherever the case that it binds is equal, and so can
// hold again; it never names a target commit, a tree or a line.
type Resolution struct {
	Action   Action   `json:"action"`
	Identity Identity `json:"identity"`
	Case     Digest   `json:"case"`
}

// Case is what a resolution binds: who is concerned, why, and what would come of it. A new contender, another reason or
// another result is another case.
type Case struct {
	Identities []Identity `json:"identities"`
	Codes      []Code     `json:"codes,omitempty"`
	Symbols    []string   `json:"symbols,omitempty"`
	Contenders []Identity `json:"contenders,omitempty"`
	Blobs      []CaseBlob `json:"blobs,omitempty"`
	Landings   []git.OID  `json:"landings,omitempty"` // of a reopened patch: the commits that carry it, in the target or no longer
}

// CaseBlob is the result at one path in conflict.
type CaseBlob struct {
	Path string  `json:"path"`
	Blob git.OID `json:"blob"`
}

// Digest identifies the case; lists count as sets.
func (c Case) Digest() (Digest, error) { return DigestOf(c.Sorted()) }

// Sorted is the case with its lists sorted and free of repeats, as it is digested, published and bound.
func (c Case) Sorted() Case {
	return Case{
		Identities: setOf(c.Identities, cmp.Compare), Codes: setOf(c.Codes, cmp.Compare), Symbols: setOf(c.Symbols, cmp.Compare),
		Contenders: setOf(c.Contenders, cmp.Compare), Landings: setOf(c.Landings, cmp.Compare),
		Blobs: setOf(c.Blobs, func(a, b CaseBlob) int { return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Blob, b.Blob)) }),
	}
}

// setOf is a sorted copy of a list without repeats.
func setOf[T comparable](list []T, order func(a, b T) int) []T {
	out := slices.SortedFunc(slices.Values(list), order)
	return slices.Compact(out)
}

// Rulings is R as far as one decision needs it.
type Rulings []Resolution

// holds reports whether somebody did this for the patch in exactly this case.
func (r Rulings) holds(action Action, id Identity, c Case) (bool, error) {
	if len(r) == 0 {
		return false, nil
	}
	digest, err := c.Digest()
	if err != nil {
		return false, err
	}
	return slices.Contains(r, Resolution{Action: action, Identity: id, Case: digest}), nil
}

// caseOf is the case that reasons of one patch make, with the result blobs of the paths that they name.
func caseOf(id Identity, reasons []Reason, blobs map[string]git.OID) Case {
	c := Case{Identities: []Identity{id}}
	seen := map[string]bool{}
	for _, r := range reasons {
		c.Codes = append(c.Codes, r.Code)
		if r.Symbol != "" {
			c.Symbols = append(c.Symbols, r.Symbol)
		}
		if r.Path != "" && !seen[r.Path] {
			seen[r.Path] = true
			c.Blobs = append(c.Blobs, CaseBlob{Path: r.Path, Blob: blobs[r.Path]})
		}
	}
	return c.Sorted()
}
