package drill

import "time"

// Outcome is what a run has shown.
type Outcome string

// The outcomes.
const (
	Safe      Outcome = "safe"      // the fence held, by every check
	Corrupted Outcome = "corrupted" // the account was not debited exactly once
	Undamaged Outcome = "undamaged" // without a fence, and no damage this time
	Unproven  Outcome = "unproven"  // the account is right, but another check failed
)

// Report is what a drill has shown. Its JSON form is described in docs/cli-json.md.
type Report struct {
	Version int    `json:"version"` // of the JSON form, 1
	Passed  bool   `json:"passed"`
	Verdict string `json:"verdict"` // in one sentence
	TTLMS   int64  `json:"ttl_ms"`  // length of A's lease
	TookMS  int64  `json:"took_ms"`
	Runs    []Run  `json:"runs"`
	Dir     string `json:"dir,omitempty"` // databases and logs, where they are kept
}

// Run is one order under one guard.
type Run struct {
	Order   Order   `json:"order"`
	Title   string  `json:"title"`
	Guard   Guard   `json:"guard"`
	Outcome Outcome `json:"outcome"`
	Row     Row     `json:"row"` // as the database holds it in the end
	Checks  []Check `json:"checks"`
	Events  []Event `json:"events"`
	// Log is what worker A logged, one JSON object a line.
	Log []string `json:"log"`
}

// Row is the account in the end.
type Row struct {
	Balance int64 `json:"balance"`
	Debits  int64 `json:"debits"`
	Token   int64 `json:"fence_token"`
}

// Check is one question about a run and its answer.
type Check struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail"`
}

// find returns the events of a kind by a worker.
func (r *Run) find(worker string, kind Kind) (events []Event) {
	for _, e := range r.Events {
		if e.Worker == worker && e.Kind == kind {
			events = append(events, e)
		}
	}
	return events
}

// run returns the run of an order under a guard.
func (r *Report) run(order Order, guard Guard) *Run {
	for i := range r.Runs {
		if r.Runs[i].Order == order && r.Runs[i].Guard == guard {
			return &r.Runs[i]
		}
	}
	return nil
}

func seconds(ms int64) float64 { return (time.Duration(ms) * time.Millisecond).Seconds() }
