package drill

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/fencerow/fencerow"
)

// judge answers the checks of a run from the row, the answers that the workers were given, and A's log.
func judge(r *Run) {
	r.Checks = []Check{checkOneDebit(r)}
	if r.Guard != Fence {
		r.Outcome = Undamaged
		if !r.Checks[0].OK {
			r.Outcome = Corrupted
		}
		return
	}
	r.Checks = append(r.Checks, checkToken(r), checkRefused(r), checkLog(r))
	r.Outcome = Safe
	for _, c := range r.Checks {
		if !c.OK {
			r.Outcome = Unproven
		}
	}
	if !r.Checks[0].OK {
		r.Outcome = Corrupted
	}
}

func checkOneDebit(r *Run) Check {
	return Check{
		Name:   "exactly one debit",
		OK:     r.Row.Debits == 1 && r.Row.Balance == initialBalance-debitAmount,
		Detail: fmt.Sprintf("balance %d, %s", r.Row.Balance, plural(r.Row.Debits, "debit")),
	}
}

// checkToken: the row carries the token of the worker whose write was accepted, and that was granted last.
func checkToken(r *Run) Check {
	c := Check{Name: "the row carries the newest holder's token"}
	var newest, accepted Event
	for _, e := range r.Events {
		if e.Kind == Granted && e.Token > newest.Token {
			newest = e
		}
		if e.Kind == Wrote && e.Verdict == string(fencerow.Applied) {
			accepted = e
		}
	}
	c.OK = r.Row.Token > 0 && r.Row.Token == newest.Token && r.Row.Token == accepted.Token && newest.Worker == accepted.Worker
	c.Detail = fmt.Sprintf("stored %d, granted last %d, to %s", r.Row.Token, newest.Token, newest.Worker)
	return c
}

func checkRefused(r *Run) Check {
	c := Check{Name: "the write of A was refused as stale"}
	writes := r.find("A", Wrote)
	if len(writes) != 1 {
		c.Detail = fmt.Sprintf("A has made %d writes", len(writes))
		return c
	}
	c.OK = writes[0].Verdict == string(fencerow.Stale)
	c.Detail = fmt.Sprintf("token %d: %s, %s", writes[0].Token, writes[0].Verdict, writes[0].Detail)
	return c
}

// checkLog looks for the line by which somebody would trace the rejection back to its lease.
func checkLog(r *Run) Check {
	c := Check{Name: "A's log names the token and the rejection", Detail: "no line says lock_fence_rejected"}
	for _, line := range r.Log {
		var entry struct {
			Msg        string `json:"msg"`
			FenceToken int64  `json:"fence_token"`
			Stored     int64  `json:"stored"`
			Resource   string `json:"resource"`
		}
		if json.Unmarshal([]byte(line), &entry) != nil || entry.Msg != "lock_fence_rejected" {
			continue
		}
		granted := r.find("A", Granted)
		c.OK = len(granted) == 1 && entry.FenceToken == granted[0].Token && entry.Stored > entry.FenceToken && entry.Resource != ""
		c.Detail = fmt.Sprintf("lock_fence_rejected fence_token=%d stored=%d", entry.FenceToken, entry.Stored)
		return c
	}
	return c
}

// conclude says what all runs together have shown.
func conclude(r *Report) {
	var unsafe []string
	fenced, contrast, damaged := 0, 0, 0
	for _, run := range r.Runs {
		switch {
		case run.Guard == Fence:
			fenced++
			if run.Outcome != Safe {
				unsafe = append(unsafe, run.Title)
			}
		default:
			contrast++
			if run.Outcome == Corrupted {
				damaged++
			}
		}
	}
	held := fmt.Sprintf("The fence held in %d of %d runs", fenced-len(unsafe), fenced)
	switch {
	case len(unsafe) > 0:
		r.Verdict = held + ", NOT in: " + strings.Join(unsafe, "; ") + "."
	case fenced == 0:
		r.Verdict = "Nothing was proved: no run had the fence."
	case contrast == 0:
		r.Verdict = held + "."
		r.Passed = true
	case damaged == 0:
		r.Verdict = "Nothing was proved: without the fence the account came out right, too."
	default:
		r.Verdict = fmt.Sprintf("%s; without it %d of %d corrupted the account.", held, damaged, contrast)
		r.Passed = true
	}
}

func plural(n int64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
