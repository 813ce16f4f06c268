package repro

import (
	"math/rand/v2"
	"slices"
)

// permutations lists every order of n things, the sorted one first.
func permutations(n int) [][]int {
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	out := [][]int{slices.Clone(order)}
	for next(order) {
		out = append(out, slices.Clone(order))
	}
	return out
}

// next makes an order the one that follows it; false after the last.
func next(a []int) bool {
	i := len(a) - 2
	for i >= 0 && a[i] >= a[i+1] {
		i--
	}
	if i < 0 {
		return false
	}
	j := len(a) - 1
	for a[j] <= a[i] {
		j--
	}
	a[i], a[j] = a[j], a[i]
	slices.Reverse(a[i+1:])
	return true
}

// orders gives the orders to run: all of n things, or a sample of them. The sorted order and its reverse come first.
func orders(n, sample int, r *rand.Rand) [][]int {
	if sample == 0 {
		return permutations(n)
	}
	sorted := make([]int, n)
	for i := range sorted {
		sorted[i] = i
	}
	reversed := slices.Clone(sorted)
	slices.Reverse(reversed)
	out := [][]int{sorted}
	if n > 1 {
		out = append(out, reversed)
	}
	for len(out) < sample {
		out = append(out, r.Perm(n))
	}
	return out[:sample]
}
