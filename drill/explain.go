package drill

import (
	"fmt"

	"github.com/fencerow/fencerow"
)

// short is the outcome in a word or two, with a sign.
func (r *Run) short() string {
	switch r.Outcome {
	case Safe:
		return signApplied + " safe"
	case Corrupted:
		return signRefused + " CORRUPTED"
	case Undamaged:
		return signNone + " by luck"
	}
	return signRefused + " unproven"
}

func (r *Run) tone() tone {
	switch r.Outcome {
	case Safe:
		return good
	case Undamaged:
		return neutral
	}
	return bad
}

// inTheEnd is what the database says.
func (r *Run) inTheEnd() string {
	return fmt.Sprintf("balance %d, %s, fence_token %d", r.Row.Balance, plural(r.Row.Debits, "debit"), r.Row.Token)
}

// explain says what an outcome means and which steps have decided it.
func (r *Run) explain() string {
	switch r.Outcome {
	case Safe:
		return "Safe: debited once, by the newest holder." + r.whyRefused()
	case Corrupted:
		return fmt.Sprintf("CORRUPTED: debited %d times; %d is left, it should be %d.",
			r.Row.Debits, r.Row.Balance, initialBalance-debitAmount) + r.whyAccepted()
	case Undamaged:
		return "No damage this time: the superseded write was the only one." + r.whyAccepted()
	}
	return "Unproven: the account is right, but a check has failed."
}

// whyRefused names the claim that A's write has met.
func (r *Run) whyRefused() string {
	write := r.staleWrite()
	for i := write - 1; i >= 0; i-- {
		if e := r.Events[i]; e.Kind == Claimed && e.Token > r.Events[write].Token {
			return fmt.Sprintf(" %s's claim (step %d) had raised the row's mark to %d, so A's write with token %d (step %d) was refused.",
				e.Worker, i+1, e.Token, r.Events[write].Token, write+1)
		}
	}
	return ""
}

// whyAccepted says that nothing has compared A's token, and what its own look at the lease was worth.
func (r *Run) whyAccepted() string {
	write := r.staleWrite()
	if write < 0 || r.Events[write].Verdict != string(fencerow.Applied) {
		return ""
	}
	text := fmt.Sprintf(" Nothing compared the token of A's write (step %d)", write+1)
	for i, e := range r.Events[:write] {
		if e.Worker == "A" && e.Kind == Checked {
			return text + fmt.Sprintf(", and its check of its lease (step %d) was true only when it was made.", i+1)
		}
	}
	return text + "."
}

// staleWrite returns the place of the write that A made when it woke, or -1.
func (r *Run) staleWrite() int {
	for i, e := range r.Events {
		if e.Worker == "A" && e.Kind == Wrote {
			return i
		}
	}
	return -1
}

// headline is the verdict with its sign.
func (r *Report) headline() string {
	if r.Passed {
		return signApplied + " PASS: " + r.Verdict
	}
	return signRefused + " FAIL: " + r.Verdict
}

func (r *Report) tone() tone {
	if r.Passed {
		return good
	}
	return bad
}

// story is what every run has in common.
var story = fmt.Sprintf("Worker A reads the account, decides to debit %d, and is frozen past its lease. B takes over and does the same "+
	"job. Then A wakes, and its first act is the write that it had decided on. Right is one debit and a balance of %d.",
	debitAmount, initialBalance-debitAmount)

// worstContrast is the run without a fence that shows the damage best: the order that a fence without a claim would miss.
func (r *Report) worstContrast() *Run {
	for _, order := range []Order{WakesBetween, WritesFirst, CrashesAfterClaim} {
		if run := r.run(order, NoFence); run != nil && run.Outcome == Corrupted {
			return run
		}
	}
	return nil
}

// fenced and contrast are the runs with the fence and the others.
func (r *Report) fenced() (runs []*Run)   { return r.where(func(g Guard) bool { return g == Fence }) }
func (r *Report) contrast() (runs []*Run) { return r.where(func(g Guard) bool { return g != Fence }) }

func (r *Report) where(keep func(Guard) bool) (runs []*Run) {
	for _, order := range Orders {
		for _, guard := range Guards {
			if run := r.run(order, guard); run != nil && keep(guard) {
				runs = append(runs, run)
			}
		}
	}
	return runs
}

// guards are those that were drilled.
func (r *Report) guards() (guards []Guard) {
	for _, guard := range Guards {
		if r.run(Orders[0], guard) != nil {
			guards = append(guards, guard)
		}
	}
	return guards
}
