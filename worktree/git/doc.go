// Package git is the only caller of the git binary, and owns git's objects, trees and references.
//
// Objects are read through a few long-lived "git cat-file" processes that run in a bare directory of our own, with an
// empty configuration, no attributes, no references, no replacements and no grafts, over the object store of the
// user's repository: nothing local or personal can reach a decision. New objects live in an Overlay in memory until
// WritePack puts them into the store at once. References are read in process and written by git alone.
//
// It refuses what it cannot serve exactly (SHA-256, reftable, shallow and partial repositories) and knows nothing of
// patches, policies or decisions.
package git
