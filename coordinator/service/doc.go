// Package service is the daemon: it admits submissions, has River workers decide them through coordinator.Engine, runs
// their checks, appends what comes of it to the guarded ledger, and follows the branches that it guards.
//
// It owns when things happen and in which order their effects reach git and the database, never what is decided: the same
// functions that `patchd decide` calls do that. Every worker is idempotent, because candidate ids are deterministic, refs
// move by compare-and-swap and the ledger refuses what was decided against another state.
package service
