package drill

import (
	"fmt"
	"time"

	"github.com/fencerow/fencerow"
)

// tone is how a step went, for colour and sign.
type tone int

const (
	neutral tone = iota
	good
	bad    // damage, and nothing else
	barred // stopped: refused or killed
	cold   // frozen
)

// The signs stand before a step, so that colour is never the only difference.
const (
	signNone     = "·"
	signGranted  = "▶"
	signFrozen   = "‖"
	signThawed   = "↻"
	signKilled   = "✝"
	signApplied  = "✔"
	signRefused  = "✘"
	signAccepted = "‼" // stale and yet accepted
)

// step is an event as it is shown: its number, what it says and how it went.
type step struct {
	Event
	number int
	label  string
	sign   string
	tone   tone
	pause  time.Duration // that has passed since the step before, if it is long
}

// steps are the events of a run, told by what was known when they happened.
func (r *Run) steps() []step {
	var newest int64 // the newest token granted so far
	steps := make([]step, len(r.Events))
	for i, e := range r.Events {
		newest = max(newest, e.Token)
		s := step{Event: e, number: i + 1, label: e.Detail, sign: signNone}
		switch e.Kind {
		case Granted:
			s.label, s.sign = fmt.Sprintf("granted token %d", e.Token), signGranted
		case Frozen:
			s.label, s.sign, s.tone = "FROZEN (SIGSTOP)", signFrozen, cold
		case Thawed:
			s.label, s.sign, s.tone = "THAWED (SIGCONT)", signThawed, cold
		case Killed:
			s.label, s.sign, s.tone = "KILLED (SIGKILL)", signKilled, barred
		case LeaseEnded:
			s.label = "lease has ended"
		case Skipped:
			s.label = "sees it done, skips"
		case Released:
			s.label = "releases"
		case Lost:
			s.label = "finds lease lost"
		case Wrote:
			s.label, s.sign, s.tone = wroteAs(e, newest)
		}
		if i > 0 {
			s.pause = longPause(r.Events[i-1], e, r.Events[len(r.Events)-1])
		}
		steps[i] = s
	}
	return steps
}

// wroteAs tells a write by its token: an accepted write of a superseded worker is the damage that all this is about.
func wroteAs(e Event, newest int64) (label, sign string, t tone) {
	switch {
	case e.Verdict != string(fencerow.Applied):
		return fmt.Sprintf("write as %d: REFUSED", e.Token), signRefused, barred
	case e.Token < newest:
		return fmt.Sprintf("write as %d: ACCEPTED", e.Token), signAccepted, bad
	}
	return fmt.Sprintf("write as %d: applied", e.Token), signApplied, good
}

// longPause returns the time between two events if it is long beside the whole run.
func longPause(before, after, last Event) time.Duration {
	pause := after.AtMS - before.AtMS
	if pause < 100 || pause < last.AtMS/10 {
		return 0
	}
	return time.Duration(pause) * time.Millisecond
}

// during tells for each event whether a span of a worker is under way when it has happened.
func (r *Run) during(worker string, begins Kind, ends ...Kind) []bool {
	under, out := false, make([]bool, len(r.Events))
	for i, e := range r.Events {
		if e.Worker == worker {
			under = e.Kind == begins || under
			for _, end := range ends {
				under = under && e.Kind != end
			}
		}
		out[i] = under
	}
	return out
}

// frozen is the span in which a worker does nothing.
func (r *Run) frozen(worker string) []bool { return r.during(worker, Frozen, Thawed, Killed) }

// leased is the span in which the lock service calls a worker the holder.
func (r *Run) leased(worker string) []bool {
	return r.during(worker, Granted, LeaseEnded, Released, Lost)
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

// rowState is the account's row while a run goes on.
type rowState struct {
	mark, balance int64
}

// rows returns what the account's row holds after each event, as the answers to the workers tell it.
func (r *Run) rows() []rowState {
	state, out := rowState{balance: initialBalance}, make([]rowState, len(r.Events))
	for i, e := range r.Events {
		switch {
		case e.Kind == Claimed:
			state.mark = max(state.mark, e.Token)
		case e.Kind == Wrote && e.Verdict == string(fencerow.Applied):
			state.balance -= debitAmount
		}
		out[i] = state
	}
	return out
}
