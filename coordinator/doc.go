// Package coordinator is the protocol of patchd: what a patch is, what a decision is, and how one follows from the other.
//
// It owns the manifest and its identity, the policy, the records and their digests, the decision D(T, p) of one patch at one
// target commit, and the state f(T, S, R, V) of everything pending. All of it is a function of recorded inputs: the package
// reads git objects through worktree/git, asks ownership about symbols and worktree about lines, and takes verdicts of
// checks as values. It refuses everything else: it holds no database, network, clock, host or environment, and nothing in
// it depends on the order in which patches came, on who sent them or on how often.
package coordinator
