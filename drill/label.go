package drill

import (
	"fmt"

	"github.com/fencerow/fencerow"
)

// tone is how a step went, for colour and sign.
type tone int

const (
	neutral tone = iota
	good
	bad
	cold // frozen
)

// step is an event as it is shown: its place in a lane, what it says and how it went.
type step struct {
	Event
	label string
	sign  string // stands before the label, so that colour is never the only difference
	tone  tone
}

// steps are the events of a run, told apart by what was known when they happened.
func (r *Run) steps() []step {
	var newest int64 // the newest token granted so far
	steps := make([]step, len(r.Events))
	for i, e := range r.Events {
		newest = max(newest, e.Token)
		s := step{Event: e, label: e.Detail, sign: "·"}
		switch e.Kind {
		case Granted:
			s.label, s.sign = fmt.Sprintf("granted token %d", e.Token), "▶"
		case Frozen:
			s.label, s.sign, s.tone = "FROZEN (SIGSTOP)", "‖", cold
		case Thawed:
			s.label, s.sign, s.tone = "THAWED (SIGCONT)", "↻", cold
		case Killed:
			s.label, s.sign, s.tone = "KILLED (SIGKILL)", "✝", bad
		case LeaseEnded:
			s.label = "its lease has ended"
		case Skipped:
			s.label = "job is done, skips it"
		case Released:
			s.label = "releases"
		case Lost:
			s.label = "finds its lease lost"
		case Wrote:
			switch {
			case e.Verdict != string(fencerow.Applied):
				s.label, s.sign, s.tone = fmt.Sprintf("writes as %d: REFUSED", e.Token), "✘", bad
			case e.Token < newest:
				s.label, s.sign, s.tone = fmt.Sprintf("writes as %d: ACCEPTED", e.Token), "‼", bad
			default:
				s.label, s.sign, s.tone = fmt.Sprintf("writes as %d: applied", e.Token), "✔", good
			}
		}
		steps[i] = s
	}
	return steps
}

// inWords is the outcome for a table.
func (r *Run) inWords() string {
	switch r.Outcome {
	case Safe:
		return fmt.Sprintf("✔ safe %d", r.Row.Balance)
	case Corrupted:
		return fmt.Sprintf("✘ CORRUPTED %d", r.Row.Balance)
	case Undamaged:
		return fmt.Sprintf("· by luck %d", r.Row.Balance)
	}
	return fmt.Sprintf("✘ unproven %d", r.Row.Balance)
}

// explain says what an outcome means, with the database as the witness.
func (r *Run) explain() string {
	switch r.Outcome {
	case Safe:
		return "Safe: the account was debited once, by the newest holder."
	case Corrupted:
		return fmt.Sprintf("Corrupted: the account was debited %d times; %d is left of %d, it should be %d.",
			r.Row.Debits, r.Row.Balance, initialBalance, initialBalance-debitAmount)
	case Undamaged:
		return "No damage this time, by luck: the write of the superseded worker was accepted, and no other one came."
	}
	return "Unproven: the account is right, but not every check passed."
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

// lanes are the workers of a run, in order.
func (r *Run) lanes() (names []string) {
	for _, name := range []string{"A", "B", "C"} {
		for _, e := range r.Events {
			if e.Worker == name {
				names = append(names, name)
				break
			}
		}
	}
	return names
}

// frozen returns for each event whether a worker is frozen while it happens.
func (r *Run) frozen(worker string) []bool {
	state, out := false, make([]bool, len(r.Events))
	for i, e := range r.Events {
		if e.Worker == worker {
			switch e.Kind {
			case Frozen:
				state = true
			case Thawed, Killed:
				state = false
			}
		}
		out[i] = state
	}
	return out
}
