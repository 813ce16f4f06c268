package git

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// Overlay holds new objects in memory over a Reader, so that a decision writes nothing until it is taken.
// It is safe for concurrent use. Objects are content-addressed: putting one twice is putting it once.
type Overlay struct {
	under   Reader
	mu      sync.RWMutex
	objects map[OID]Object
	trees   map[OID]Tree
}

var _ Reader = (*Overlay)(nil)

// NewOverlay makes an empty overlay over r.
func NewOverlay(r Reader) *Overlay {
	return &Overlay{under: r, objects: map[OID]Object{}, trees: map[OID]Tree{}}
}

// Put adds an object and gives its id. The overlay keeps data: it must not be changed afterwards.
func (o *Overlay) Put(t ObjectType, data []byte) OID {
	id := HashObject(t, data)
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, ok := o.objects[id]; !ok {
		o.objects[id] = Object{OID: id, Type: t, Data: data}
	}
	return id
}

// Adopt adds all that another overlay holds, without hashing or parsing it again.
func (o *Overlay) Adopt(from *Overlay) {
	if from == nil || from == o {
		return
	}
	from.mu.RLock()
	objects, trees := maps.Clone(from.objects), maps.Clone(from.trees)
	from.mu.RUnlock()
	o.mu.Lock()
	defer o.mu.Unlock()
	maps.Copy(o.objects, objects)
	maps.Copy(o.trees, trees)
}

// PutBlob adds a file's content.
func (o *Overlay) PutBlob(data []byte) OID { return o.Put(TypeBlob, data) }

// PutTree adds a tree, whose entries need not be sorted. It is a *MalformedError when they cannot form one.
func (o *Overlay) PutTree(t Tree) (OID, error) {
	sorted := slices.Clone(t)
	sorted.Sort()
	data, err := EncodeTree(sorted)
	if err != nil {
		return "", fmt.Errorf("put tree: %w", err)
	}
	id := o.Put(TypeTree, data)
	o.mu.Lock()
	o.trees[id] = sorted
	o.mu.Unlock()
	return id, nil
}

// PutCommit adds a commit, encoded as EncodeCommit says; its OID field is not read.
func (o *Overlay) PutCommit(c Commit) OID { return o.Put(TypeCommit, EncodeCommit(c)) }

// Objects are the objects put so far, sorted by id.
func (o *Overlay) Objects() []Object {
	o.mu.RLock()
	defer o.mu.RUnlock()
	objects := make([]Object, 0, len(o.objects))
	for _, object := range o.objects {
		objects = append(objects, object)
	}
	sortObjects(objects)
	return objects
}

func sortObjects(objects []Object) {
	slices.SortFunc(objects, func(a, b Object) int { return strings.Compare(string(a.OID), string(b.OID)) })
}

// Has reports whether the overlay itself, not the reader under it, holds an object.
func (o *Overlay) Has(id OID) bool {
	_, ok := o.own(id)
	return ok
}

// Under is the reader that the overlay lies over.
func (o *Overlay) Under() Reader { return o.under }

func (o *Overlay) own(id OID) (Object, bool) {
	o.mu.RLock()
	defer o.mu.RUnlock()
	object, ok := o.objects[id]
	return object, ok
}

// Read implements Reader.
func (o *Overlay) Read(ctx context.Context, id OID) (Object, error) {
	if object, ok := o.own(id); ok {
		return object, nil
	}
	return o.under.Read(ctx, id)
}

// ReadBlob implements Reader.
func (o *Overlay) ReadBlob(ctx context.Context, id OID) ([]byte, error) {
	object, ok := o.own(id)
	if !ok {
		return o.under.ReadBlob(ctx, id)
	}
	if object.Type != TypeBlob {
		return nil, &TypeError{OID: id, Want: TypeBlob, Got: object.Type}
	}
	return object.Data, nil
}

// ReadTree implements Reader.
func (o *Overlay) ReadTree(ctx context.Context, id OID) (Tree, error) {
	o.mu.RLock()
	tree, parsed := o.trees[id]
	o.mu.RUnlock()
	if parsed {
		return tree, nil
	}
	object, ok := o.own(id)
	if !ok {
		return o.under.ReadTree(ctx, id)
	}
	tree, err := parseTreeObject(object)
	if err != nil {
		return nil, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.trees[id] = tree
	return tree, nil
}

// ReadCommit implements Reader.
func (o *Overlay) ReadCommit(ctx context.Context, id OID) (*Commit, error) {
	object, ok := o.own(id)
	if !ok {
		return o.under.ReadCommit(ctx, id)
	}
	return parseCommitObject(object)
}

func parseTreeObject(object Object) (Tree, error) {
	if object.Type != TypeTree {
		return nil, &TypeError{OID: object.OID, Want: TypeTree, Got: object.Type}
	}
	tree, err := ParseTree(object.Data)
	if err != nil {
		return nil, fmt.Errorf("read tree %s: %w", object.OID, err)
	}
	return tree, nil
}

func parseCommitObject(object Object) (*Commit, error) {
	if object.Type != TypeCommit {
		return nil, &TypeError{OID: object.OID, Want: TypeCommit, Got: object.Type}
	}
	return ParseCommit(object.OID, object.Data)
}
