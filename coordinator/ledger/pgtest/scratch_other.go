//go:build !linux

package pgtest

// scratch is empty: there is no directory in memory that is known to be there.
func scratch() string { return "" }
