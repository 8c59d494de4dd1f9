package fencerowtest

import (
	"context"
	"fmt"
	"testing"
	"time"
)

// caseLimit bounds one case, so that a subject that hangs is reported and not waited for.
const caseLimit = 60 * time.Second

// probe is what a case works with. Its methods that end the case may be called by the goroutine of the case only.
type probe struct {
	ctx      context.Context
	cleanups []func()
}

// violation and absence end a case from within.
type (
	violation struct{ detail string }
	absence   struct{ detail string }
)

// broken ends the case: the promise was broken.
func (p *probe) broken(format string, args ...any) {
	panic(violation{fmt.Sprintf(format, args...)})
}

// notOffered ends the case: the subject has no such ability.
func (p *probe) notOffered(what string) { panic(absence{what}) }

// ok ends the case if an operation failed that should have succeeded.
func (p *probe) ok(err error, what string, args ...any) {
	if err != nil {
		p.broken("%s: %v", fmt.Sprintf(what, args...), err)
	}
}

// cleanup is called after the case, the latest first.
func (p *probe) cleanup(fn func()) { p.cleanups = append(p.cleanups, fn) }

// run runs one case and turns how it ended into a result.
func run(ctx context.Context, c Case, body func(*probe)) (result Result) {
	ctx, cancel := context.WithTimeout(ctx, caseLimit)
	defer cancel()
	p := &probe{ctx: ctx}
	start := time.Now()
	result = Result{Case: c, Outcome: Kept}
	defer func() {
		switch end := recover().(type) {
		case nil:
		case violation:
			result.Outcome, result.Detail = Broken, end.detail
		case absence:
			result.Outcome, result.Detail = NotOffered, end.detail
		default:
			panic(end)
		}
		if ctx.Err() != nil && result.Outcome == Kept {
			result.Outcome, result.Detail = Broken, "the case did not end in time"
		}
		result.Took = time.Since(start)
		for i := len(p.cleanups) - 1; i >= 0; i-- {
			p.cleanups[i]()
		}
	}()
	body(p)
	return result
}

// show runs cases as subtests.
func show(t *testing.T, names []Case, check func(i int) Result) {
	t.Helper()
	for i, c := range names {
		t.Run(c.Name, func(t *testing.T) {
			t.Helper()
			switch result := check(i); result.Outcome {
			case Broken:
				t.Errorf("broken: %s\nseen: %s", c.Promise, result.Detail)
			case NotOffered:
				t.Logf("not offered: %s (%s)", c.Promise, result.Detail)
			}
		})
	}
}
