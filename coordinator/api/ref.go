package api

import (
	"strings"

	"patchd/worktree/git"
)

// FullRef is the full name of a branch given short or in full; the empty name stays empty and means the only one guarded.
func FullRef(branch string) git.Ref {
	if branch == "" || strings.HasPrefix(branch, "refs/") {
		return git.Ref(branch)
	}
	return git.Ref("refs/heads/" + branch)
}
