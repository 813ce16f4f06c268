package git

import (
	"context"
	"fmt"
	"time"
)

// OID is a SHA-1 object id: 40 lower-case hexadecimal digits. The empty string means "no object".
type OID string

// ZeroOID is the all-zero id that git uses for "does not exist" in ref transactions.
const ZeroOID OID = "0000000000000000000000000000000000000000"

// EmptyTree is the id of the tree without entries.
const EmptyTree OID = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"

// Ref is a full reference name such as "refs/heads/main".
type Ref string

// Mode is a tree entry's mode as git stores it. Zero means that the entry is absent.
type Mode uint32

// The modes that git itself writes.
const (
	ModeTree       Mode = 0o040000
	ModeFile       Mode = 0o100644
	ModeExecutable Mode = 0o100755
	ModeSymlink    Mode = 0o120000
	ModeGitlink    Mode = 0o160000
)

// String gives the six octal digits of the git diff format.
func (m Mode) String() string { return fmt.Sprintf("%06o", uint32(m)) }

// IsFile reports whether m is a regular file, executable or not.
func (m Mode) IsFile() bool { return m == ModeFile || m == ModeExecutable }

// ObjectType is "commit", "tree", "blob" or "tag".
type ObjectType string

// The four types of git objects.
const (
	TypeCommit ObjectType = "commit"
	TypeTree   ObjectType = "tree"
	TypeBlob   ObjectType = "blob"
	TypeTag    ObjectType = "tag"
)

// Object is one object with its id; Data is the body without git's header and must not be changed.
type Object struct {
	OID  OID
	Type ObjectType
	Data []byte
}

// Entry is what stands at one path: a mode and an object id. The zero Entry means that nothing does.
type Entry struct {
	Mode Mode
	OID  OID
}

// IsZero reports whether nothing stands at the path.
func (e Entry) IsZero() bool { return e.Mode == 0 }

// TreeEntry is one named entry of a tree.
type TreeEntry struct {
	Name string
	Entry
}

// Tree is a tree's entries in git's order (directories compare as if their name ended in "/").
type Tree []TreeEntry

// Signature is an author or committer: the zone of When is kept.
type Signature struct {
	Name, Email string
	When        time.Time
}

// Commit is a parsed commit object.
type Commit struct {
	OID               OID
	Tree              OID
	Parents           []OID
	Author, Committer Signature
	Message           string
}

// Change is one path at which two trees differ; renames are not looked for.
type Change struct {
	Path     string
	Old, New Entry
}

// Reader reads objects. Implementations are safe for concurrent use.
// An absent object is a *MissingError; an object of another type is a *TypeError.
type Reader interface {
	Read(ctx context.Context, id OID) (Object, error)
	ReadBlob(ctx context.Context, id OID) ([]byte, error)
	ReadTree(ctx context.Context, id OID) (Tree, error)
	ReadCommit(ctx context.Context, id OID) (*Commit, error)
}

// MissingError says that the repository does not hold an object that is needed.
type MissingError struct{ OID OID }

// Error implements error.
func (e *MissingError) Error() string { return fmt.Sprintf("object %s is missing", e.OID) }

// TypeError says that an object is not of the type asked for.
type TypeError struct {
	OID       OID
	Want, Got ObjectType
}

// Error implements error.
func (e *TypeError) Error() string {
	return fmt.Sprintf("object %s is a %s, not a %s", e.OID, e.Got, e.Want)
}
