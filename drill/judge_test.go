package drill

import (
	"strings"
	"testing"
)

const rejection = `{"level":"ERROR","msg":"lock_fence_rejected","worker":"A","fence_token":1,"resource":"account/x","stored":2,"verdict":"stale"}`

// safeRun is a run in which everything went as it should; the tests below spoil one thing each.
func safeRun() Run {
	r := Run{
		Order: WakesBetween, Title: WakesBetween.Title(), Guard: Fence,
		Row: Row{Balance: 900, Debits: 1, Token: 2},
		Log: []string{rejection},
	}
	for i, e := range []Event{
		{Worker: "A", Kind: Granted, Token: 1, Detail: "token 1, lease of 1s"},
		{Worker: "A", Kind: Claimed, Token: 1, Detail: "claims, reads 1000"},
		{Worker: "A", Kind: Decided, Token: 1, Detail: "decides to debit 100"},
		{Worker: "A", Kind: Frozen, Token: 1, Detail: "SIGSTOP"},
		{Worker: "A", Kind: LeaseEnded, Token: 1, Detail: "the lock service has ended its lease"},
		{Worker: "B", Kind: Granted, Token: 2, Detail: "token 2, lease of 30s"},
		{Worker: "B", Kind: Claimed, Token: 2, Detail: "claims, reads 1000"},
		{Worker: "B", Kind: Decided, Token: 2, Detail: "decides to debit 100"},
		{Worker: "A", Kind: Thawed, Token: 1, Detail: "SIGCONT"},
		{Worker: "A", Kind: Wrote, Token: 1, Verdict: "stale", Detail: "the row has seen 2"},
		{Worker: "A", Kind: Lost, Token: 1, Detail: "its lease was lost"},
		{Worker: "B", Kind: Wrote, Token: 2, Verdict: "applied", Detail: "debits 100"},
		{Worker: "B", Kind: Released, Token: 2},
	} {
		e.AtMS = int64(10 * i)
		if i > 3 {
			e.AtMS += 1000
		}
		r.Events = append(r.Events, e)
	}
	judge(&r)
	return r
}

func TestJudge(t *testing.T) {
	for name, c := range map[string]struct {
		spoil   func(*Run)
		want    Outcome
		failing string // part of the failed check's name
	}{
		"as it should be":      {func(*Run) {}, Safe, ""},
		"two debits":           {func(r *Run) { r.Row = Row{800, 2, 2} }, Corrupted, "one debit"},
		"no debit":             {func(r *Run) { r.Row = Row{1000, 0, 2} }, Corrupted, "one debit"},
		"one debit, lost":      {func(r *Run) { r.Row.Balance = 1000 }, Corrupted, "one debit"},
		"older token":          {func(r *Run) { r.Row.Token = 1 }, Unproven, "newest holder"},
		"no token":             {func(r *Run) { r.Row.Token = 0 }, Unproven, "newest holder"},
		"A was accepted":       {func(r *Run) { r.Events[9].Verdict = "applied" }, Unproven, "refused as stale"},
		"A never wrote":        {func(r *Run) { r.Events[9].Kind = Skipped }, Unproven, "refused as stale"},
		"refused for another":  {func(r *Run) { r.Events[9].Verdict = "missing" }, Unproven, "refused as stale"},
		"nothing logged":       {func(r *Run) { r.Log = nil }, Unproven, "log"},
		"logged without token": {func(r *Run) { r.Log[0] = strings.Replace(rejection, `"fence_token":1,`, "", 1) }, Unproven, "log"},
		"logged another token": {func(r *Run) { r.Log[0] = strings.Replace(rejection, `"fence_token":1`, `"fence_token":2`, 1) }, Unproven, "log"},
	} {
		t.Run(name, func(t *testing.T) {
			r := safeRun()
			c.spoil(&r)
			judge(&r)
			if r.Outcome != c.want {
				t.Errorf("the outcome is %s, want %s: %+v", r.Outcome, c.want, r.Checks)
			}
			for _, check := range r.Checks {
				if failing := c.failing != "" && strings.Contains(check.Name, c.failing); check.OK == failing {
					t.Errorf("%s: %v (%s)", check.Name, check.OK, check.Detail)
				}
			}
		})
	}
}

func TestJudgeOfAContrast(t *testing.T) {
	for name, c := range map[string]struct {
		row  Row
		want Outcome
	}{
		"double debit":  {Row{800, 2, 0}, Corrupted},
		"right by luck": {Row{900, 1, 0}, Undamaged},
	} {
		r := safeRun()
		r.Guard, r.Row = NoFence, c.row
		if judge(&r); r.Outcome != c.want {
			t.Errorf("%s: %s, want %s", name, r.Outcome, c.want)
		}
	}
}

func TestConclusion(t *testing.T) {
	run := func(guard Guard, outcome Outcome) Run { return Run{Title: "order", Guard: guard, Outcome: outcome} }
	for name, c := range map[string]struct {
		runs   []Run
		passed bool
		says   string
	}{
		"the fence held and others did not": {[]Run{run(Fence, Safe), run(NoFence, Corrupted), run(NoFence, Undamaged)}, true, "without it 1 of 2 corrupted"},
		"the fence did not hold":            {[]Run{run(Fence, Corrupted), run(NoFence, Corrupted)}, false, "NOT in: order"},
		"a check failed":                    {[]Run{run(Fence, Unproven), run(NoFence, Corrupted)}, false, "NOT in: order"},
		"nothing was provoked":              {[]Run{run(Fence, Safe), run(NoFence, Undamaged)}, false, "Nothing was proved"},
		"no fence at all":                   {[]Run{run(NoFence, Corrupted)}, false, "no run had the fence"},
		"fence only":                        {[]Run{run(Fence, Safe)}, true, "held in 1 of 1 runs."},
	} {
		r := Report{Runs: c.runs}
		if conclude(&r); r.Passed != c.passed || !strings.Contains(r.Verdict, c.says) {
			t.Errorf("%s: passed %v, %q", name, r.Passed, r.Verdict)
		}
	}
}
