package drill

import "time"

// Kind is what happened.
type Kind string

// The kinds. A worker reports the first group, the drill observes the second.
const (
	Granted  Kind = "granted"  // the lock service granted the lease
	Claimed  Kind = "claimed"  // the mark was raised and the row read
	Read     Kind = "read"     // the row was read, without a claim
	Checked  Kind = "checked"  // the worker found its own lease valid
	Gone     Kind = "gone"     // the worker found its own lease gone and stopped
	Decided  Kind = "decided"  // the worker decided to debit
	Wrote    Kind = "wrote"    // the write was answered, with the verdict
	Skipped  Kind = "skipped"  // the job was done already
	Released Kind = "released" // the lease was given up
	Lost     Kind = "lost"     // the release found the lease lost

	Frozen     Kind = "frozen"      // SIGSTOP, and the process has stopped
	LeaseEnded Kind = "lease-ended" // the lock service says that the lease is over
	Thawed     Kind = "thawed"      // SIGCONT
	Killed     Kind = "killed"      // SIGKILL
)

// Event is one thing that happened in a run.
type Event struct {
	// At is the time since the start of the run.
	At      time.Duration `json:"-"`
	AtMS    int64         `json:"at_ms"`
	Worker  string        `json:"worker"` // A, B or C
	Kind    Kind          `json:"kind"`
	Token   int64         `json:"token,omitempty"`   // the worker's number
	Verdict string        `json:"verdict,omitempty"` // of a write
	Detail  string        `json:"detail,omitempty"`  // for people
	PID     int           `json:"pid,omitempty"`
}

// message is how a worker reports an event: finer in time, so that the events of two processes are put in order.
type message struct {
	Event
	AtUS int64 `json:"at_us"`
}

func (m message) event() Event {
	e := m.Event
	e.At = time.Duration(m.AtUS) * time.Microsecond
	e.AtMS = e.At.Milliseconds()
	return e
}
