package checks

// Status is how one run ended.
type Status string

// How a run can end. Passed and Failed are verdicts; all others are inconclusive.
const (
	StatusPassed         Status = "passed"           // exit status 0
	StatusFailed         Status = "failed"           // another exit status, or its own signal
	StatusTimeout        Status = "timeout"          // still running at the time limit
	StatusKilledMemory   Status = "killed_memory"    // over the memory limit, or the kernel ran out
	StatusKilledDisk     Status = "killed_disk"      // wrote more than the disk limit
	StatusKilledTooMany  Status = "killed_processes" // started more processes than the limit
	StatusKilled         Status = "killed"           // SIGKILL that we did not send
	StatusCommandMissing Status = "command_missing"  // the program is not installed on this machine
	StatusSandboxFailed  Status = "sandbox_failed"   // the command could not be confined or started
)

// Verdict is what runs say about a tree.
type Verdict string

// The verdicts of section 3: only the first two are reused.
const (
	VerdictPassed           Verdict = "passed"
	VerdictFailed           Verdict = "failed"
	VerdictInconclusive     Verdict = "inconclusive"
	VerdictNondeterministic Verdict = "nondeterministic"
)

// Reusable reports whether a recorded verdict answers the same question again.
func (v Verdict) Reusable() bool { return v == VerdictPassed || v == VerdictFailed }

// Verdict reads one run by itself, without the confirmation that a failure still needs.
func (s Status) Verdict() Verdict {
	switch s {
	case StatusPassed:
		return VerdictPassed
	case StatusFailed:
		return VerdictFailed
	case StatusTimeout, StatusKilledMemory, StatusKilledDisk, StatusKilledTooMany, StatusKilled, StatusCommandMissing, StatusSandboxFailed:
		return VerdictInconclusive
	}
	return VerdictInconclusive
}

// Rules say how often a command is run. A failure is always confirmed once.
type Rules struct {
	ConfirmPasses int // how many more times a pass is run: policy `confirm`
	Tries         int // how many runs may end without a verdict before giving up; 0 means 1
}

// Judgement is the verdict so far. Again says that another run on a fresh copy of the same tree is due; Verdict is then provisional
// (inconclusive), and it is final when Again is false.
type Judgement struct {
	Verdict Verdict
	Again   bool
	Reason  string
}

// Judge reads all runs of one command on one tree, in any order. A pass beside a failure is nondeterministic, whatever else there is.
func Judge(runs []Status, rules Rules) Judgement {
	passed, failed, unclear := 0, 0, 0
	last := Status("")
	for _, s := range runs {
		switch s.Verdict() {
		case VerdictPassed:
			passed++
		case VerdictFailed:
			failed++
		case VerdictInconclusive, VerdictNondeterministic:
			unclear++
			last = max(last, s)
		}
	}
	switch {
	case passed > 0 && failed > 0:
		return Judgement{Verdict: VerdictNondeterministic, Reason: "it passed and failed on one tree"}
	case failed >= 2:
		return Judgement{Verdict: VerdictFailed}
	case failed == 0 && passed > rules.ConfirmPasses:
		return Judgement{Verdict: VerdictPassed}
	case unclear >= max(rules.Tries, 1):
		return Judgement{Verdict: VerdictInconclusive, Reason: string(last)}
	case failed == 1:
		return Judgement{Verdict: VerdictInconclusive, Again: true, Reason: "a failure is run once more"}
	case passed > 0:
		return Judgement{Verdict: VerdictInconclusive, Again: true, Reason: "the policy asks for passes to be confirmed"}
	default:
		return Judgement{Verdict: VerdictInconclusive, Again: true, Reason: "no verdict yet"}
	}
}
