// Package worktree owns what patches do to trees: applying a patch to its base exactly, judging the tree that
// comes out, comparing and composing changes of one tree by simultaneous application, rebasing a patch onto its
// target, and making the candidate commit; and the pooled linked worktrees in which checks run.
//
// A change of a tree is a Side. Everything is a function of object ids and the target's rules: nothing depends
// on which side came first, on a clock, or on a host. Symbols, policy and people's resolutions belong to others.
package worktree
