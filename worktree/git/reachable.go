package git

import (
	"context"
	"fmt"
)

// Reachable lists the overlay's own objects that root reaches, root included, sorted by id: what a repository lacks to hold
// root. Objects that the reader below holds are not entered, since whatever they reach is there too.
func (o *Overlay) Reachable(ctx context.Context, root OID) ([]Object, error) {
	seen := map[OID]bool{}
	var out []Object
	for todo := []OID{root}; len(todo) > 0; {
		id := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		object, own := o.own(id)
		if !own || seen[id] {
			continue
		}
		seen[id] = true
		out = append(out, object)
		next, err := o.references(ctx, object)
		if err != nil {
			return nil, fmt.Errorf("follow object %s: %w", id, err)
		}
		todo = append(todo, next...)
	}
	sortObjects(out)
	return out, nil
}

// references gives the ids that an object names, gitlinks aside.
func (o *Overlay) references(ctx context.Context, object Object) ([]OID, error) {
	switch object.Type {
	case TypeCommit:
		c, err := o.ReadCommit(ctx, object.OID)
		if err != nil {
			return nil, err
		}
		return append([]OID{c.Tree}, c.Parents...), nil
	case TypeTree:
		tree, err := o.ReadTree(ctx, object.OID)
		if err != nil {
			return nil, err
		}
		var ids []OID
		for _, e := range tree {
			if e.Mode != ModeGitlink {
				ids = append(ids, e.OID)
			}
		}
		return ids, nil
	case TypeBlob, TypeTag:
	}
	return nil, nil
}
