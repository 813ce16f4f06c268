// Package checks owns commands that a patch must pass: how a command line is split and allowed, which commands are due, how one
// is run and what its end means.
//
// It decides nothing about patches. A run becomes a [Result], results become a [Judgement], and only passed and failed are
// verdicts; everything else (a time-out, a kill for memory, a sandbox that failed) is inconclusive and says nothing about the tree.
// How a process is confined is the business of package sandbox; where a tree comes from is the caller's.
package checks
