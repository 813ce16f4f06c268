// Package repro feeds one set of patches to fresh coordinators, in different orders and with everything that may go differently
// without deciding: repeats, labels, agents, withdrawals and re-submissions, worker counts, restarts, waits. It compares the
// published states with each other and with the state worked out from scratch, the decisions, the rounds and the composed
// trees, and says the first difference in words. It refuses to have an opinion on which of two that differ is right.
package repro
