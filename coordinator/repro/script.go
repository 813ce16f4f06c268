package repro

import (
	"math/rand/v2"
	"slices"
)

// act is what a step of a script does.
type act int

const (
	actSubmit   act = iota // hand in patches, all at once
	actRepeat              // the same request again
	actWithdraw            // take a patch back, and hand it in again
	actDecoy               // hand in something that contends with a patch
	actUndecoy             // take that back
	actQuiet               // wait until nothing is running
	actRestart             // stop the coordinator and start it again
	actSeal                // seal, and wait for nothing
)

// step is one step of a script.
type step struct {
	act     act
	patches []int
}

// likelihoods of what happens beside the admissions, out of 100 after each.
const (
	likelyBurst    = 30
	likelyRepeat   = 20
	likelyWithdraw = 15
	likelyDecoy    = 15
	likelyQuiet    = 15
	likelyRestart  = 4
	mostRestarts   = 2
)

// writer writes a script. The set that is admitted in the end, and before each seal, is the same whatever it adds.
type writer struct {
	r        *rand.Rand // nil: the admissions alone
	steps    []step
	here     []int // admitted since the last seal
	decoys   []int
	restarts int
}

// plainScript admits the patches in the order, one after another.
func plainScript(order []int) []step {
	w := &writer{}
	w.admit(order)
	return w.steps
}

// noisyScript admits them with everything else that may happen meanwhile.
func noisyScript(order []int, r *rand.Rand) []step {
	w := &writer{r: r}
	w.admit(order)
	return w.steps
}

// barrierScript seals a part of the patches, always the same, and admits the others while that round is under way. All verdicts
// are in before a calm seal. A nil r leaves everything else out.
func barrierScript(order []int, r *rand.Rand, calm bool) []step {
	w := &writer{r: r}
	first := func(i int) bool { return i%2 == 0 }
	w.admit(slices.DeleteFunc(slices.Clone(order), func(i int) bool { return !first(i) }))
	if calm {
		w.add(actQuiet)
	}
	w.add(actSeal)
	w.here = nil
	w.admit(slices.DeleteFunc(slices.Clone(order), first))
	return w.steps
}

func (w *writer) admit(order []int) {
	for len(order) > 0 {
		n := 1
		if w.likely(likelyBurst) {
			n = min(len(order), 2+w.r.IntN(3))
		}
		w.add(actSubmit, order[:n]...)
		w.here = append(w.here, order[:n]...)
		order = order[n:]
		w.disturb()
	}
	for _, i := range w.decoys {
		w.add(actUndecoy, i)
	}
	w.decoys = nil
}

func (w *writer) disturb() {
	if w.likely(likelyRepeat) {
		w.add(actRepeat, w.any())
	}
	if w.likely(likelyWithdraw) {
		w.add(actWithdraw, w.any())
	}
	if i := w.anyOr(-1); w.likely(likelyDecoy) && !slices.Contains(w.decoys, i) {
		w.add(actDecoy, i)
		w.decoys = append(w.decoys, i)
	}
	if len(w.decoys) > 0 && w.likely(likelyDecoy) {
		w.add(actUndecoy, w.decoys[0])
		w.decoys = w.decoys[1:]
	}
	if w.likely(likelyQuiet) {
		w.add(actQuiet)
	}
	if w.restarts < mostRestarts && w.likely(likelyRestart) {
		w.add(actRestart)
		w.restarts++
	}
}

func (w *writer) likely(percent int) bool { return w.r != nil && w.r.IntN(100) < percent }

func (w *writer) any() int { return w.here[w.r.IntN(len(w.here))] }

func (w *writer) anyOr(none int) int {
	if w.r == nil {
		return none
	}
	return w.any()
}

func (w *writer) add(a act, patches ...int) {
	w.steps = append(w.steps, step{act: a, patches: slices.Clone(patches)})
}
