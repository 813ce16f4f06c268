package git

import (
	"context"
	"fmt"
)

// objectCache keeps what was read, by id: content never changes, so nothing goes stale.
type objectCache struct {
	trees   *lru[OID, Tree]
	commits *lru[OID, *Commit]
	blobs   *lru[OID, []byte]
}

// newObjectCache shares limit bytes out: trees matter most.
func newObjectCache(limit int64) *objectCache {
	return &objectCache{
		trees:   newLRU[OID, Tree](limit / 2),
		commits: newLRU[OID, *Commit](limit / 6),
		blobs:   newLRU[OID, []byte](limit / 3),
	}
}

// Stat gives an object's type and size in bytes without its content.
func (r *Repo) Stat(ctx context.Context, id OID) (ObjectType, int64, error) {
	answer, err := r.cat.ask(ctx, "info", id)
	return answer.kind, answer.size, err
}

// Has reports whether the repository holds an object.
func (r *Repo) Has(ctx context.Context, id OID) (bool, error) {
	_, _, err := r.Stat(ctx, id)
	if isMissing(err) {
		return false, nil
	}
	return err == nil, err
}

// Read implements Reader. The bytes are held against the id: what does not hash to it is a *MalformedError.
func (r *Repo) Read(ctx context.Context, id OID) (Object, error) { return readFrom(ctx, r.cat, id) }

func readFrom(ctx context.Context, cat *catFile, id OID) (Object, error) {
	answer, err := cat.ask(ctx, "contents", id)
	if err != nil {
		return Object{}, err
	}
	if HashObject(answer.kind, answer.data) != id {
		return Object{}, &MalformedError{OID: id, Type: answer.kind, Why: "the content does not hash to the id"}
	}
	return Object{OID: id, Type: answer.kind, Data: answer.data}, nil
}

// ReadBlob implements Reader.
func (r *Repo) ReadBlob(ctx context.Context, id OID) ([]byte, error) {
	if data, ok := r.objects.blobs.get(id); ok {
		return data, nil
	}
	object, err := r.Read(ctx, id)
	if err != nil {
		return nil, err
	}
	if object.Type != TypeBlob {
		return nil, &TypeError{OID: id, Want: TypeBlob, Got: object.Type}
	}
	r.objects.blobs.put(id, object.Data, int64(len(object.Data))+128)
	return object.Data, nil
}

// ReadTree implements Reader. The tree is shared: it must not be changed.
func (r *Repo) ReadTree(ctx context.Context, id OID) (Tree, error) {
	if tree, ok := r.objects.trees.get(id); ok {
		return tree, nil
	}
	if id == EmptyTree {
		return nil, nil
	}
	object, err := r.Read(ctx, id)
	if err != nil {
		return nil, err
	}
	tree, err := parseTreeObject(object)
	if err != nil {
		return nil, err
	}
	r.objects.trees.put(id, tree, treeBytes(tree))
	return tree, nil
}

func treeBytes(tree Tree) int64 {
	size := int64(128)
	for _, e := range tree {
		size += int64(len(e.Name)) + 104
	}
	return size
}

// ReadCommit implements Reader. The commit is shared: it must not be changed.
func (r *Repo) ReadCommit(ctx context.Context, id OID) (*Commit, error) {
	if commit, ok := r.objects.commits.get(id); ok {
		return commit, nil
	}
	object, err := r.Read(ctx, id)
	if err != nil {
		return nil, err
	}
	commit, err := parseCommitObject(object)
	if err != nil {
		return nil, fmt.Errorf("read commit: %w", err)
	}
	r.objects.commits.put(id, commit, int64(len(object.Data))+512)
	return commit, nil
}
