package fencerowtest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// atOnce is how many cases run side by side in a check. They have resources of their own, and most of their time is spent on
// waiting for leases to end.
const atOnce = 4

// check is one case, bound to a subject.
type check struct {
	Case
	alone bool // disturbs the others
	body  func(*probe)
	seed  uint64
	limit time.Duration // after which the case is broken; its context ends then
}

// choose returns the checks that are named, or all. A name that no case has becomes a check that cannot be kept, because a
// promise that was never checked must not look like one that was.
func choose(all []check, names []string) []check {
	if len(names) == 0 {
		return all
	}
	var chosen []check
	for _, name := range names {
		i := slices.IndexFunc(all, func(c check) bool { return c.Name == name })
		if i < 0 {
			unknown := func(p *probe) { p.broken("the kit has no case of this name") }
			chosen = append(chosen, check{Case: Case{Name: name}, body: unknown, limit: time.Minute})
			continue
		}
		chosen = append(chosen, all[i])
	}
	return chosen
}

// runAll returns the results in the order of the checks.
func runAll(ctx context.Context, checks []check) []Result {
	results := make([]Result, len(checks))
	for i, c := range checks {
		if c.alone {
			results[i] = c.run(ctx)
		}
	}
	free := make(chan struct{}, atOnce)
	var wg sync.WaitGroup
	for i, c := range checks {
		if c.alone {
			continue
		}
		free <- struct{}{}
		wg.Go(func() {
			results[i] = c.run(ctx)
			<-free
		})
	}
	wg.Wait()
	return results
}

// run runs one case and turns how it ended into a result. It does not wait for a subject that hangs: what such a case has opened
// stays open.
func (c check) run(ctx context.Context) Result {
	ctx, cancel := context.WithTimeoutCause(ctx, c.limit, fmt.Errorf("the case did not end within %v", c.limit))
	defer cancel()
	p := &probe{ctx: ctx, seed: c.seed}
	for p.seed == 0 {
		p.seed = rand.Uint64()
	}
	start := time.Now()
	ended := make(chan Result, 1)
	go func() {
		result := c.judge(p)
		p.cleanUp()
		ended <- result
	}()
	result := Result{Case: c.Case, Outcome: Broken}
	select {
	case result = <-ended:
	case <-ctx.Done():
		select {
		case result = <-ended:
		case <-time.After(c.limit / 4): // what has a context has seen its end by now
			result.Detail = fmt.Sprintf("%v, and a call does not return", context.Cause(ctx))
		}
	}
	result.Took = time.Since(start)
	return result
}

// judge calls the body of the case.
func (c check) judge(p *probe) (result Result) {
	result = Result{Case: c.Case, Outcome: Kept}
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
		if p.ctx.Err() != nil && result.Outcome != NotOffered {
			// Errors that the end of the context has caused are no answers of the subject.
			result.Outcome, result.Detail = Broken, joinDetails(context.Cause(p.ctx).Error(), result.Detail)
		}
		if p.usedSeed.Load() && result.Outcome == Broken {
			result.Detail = fmt.Sprintf("%s (seed %d)", result.Detail, p.seed)
		}
	}()
	c.body(p)
	return result
}

func joinDetails(first, second string) string {
	if second == "" {
		return first
	}
	return first + "; " + second
}
