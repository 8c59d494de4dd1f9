package fencerowtest

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/fencerow/fencerow"
	"github.com/fencerow/fencerow/driver"
)

// LockHarness is how the kit reaches a lock service.
type LockHarness struct {
	// Name is for reports.
	Name string
	// Open returns a handle of the service, as another process would open it. All handles share the locks.
	Open func(context.Context) (driver.LockService, error)
	// TTL is the shortest that the service and the machine keep with ease; several cases wait for its end. 300 ms suits a
	// local server.
	TTL time.Duration
}

// CheckLocks holds a lock service to every promise, or to those that are named.
func CheckLocks(ctx context.Context, h LockHarness, names ...string) Report {
	report := Report{Subject: h.Name}
	for _, c := range lockCases {
		if len(names) == 0 || slices.Contains(names, c.Name) {
			report.Results = append(report.Results, c.check(ctx, h))
		}
	}
	return report
}

// TestLocks is [CheckLocks] as subtests.
func TestLocks(t *testing.T, h LockHarness) {
	t.Helper()
	show(t, LockCases(), func(i int) Result { return lockCases[i].check(t.Context(), h) })
}

// LockCases lists the promises of a lock service.
func LockCases() []Case {
	names := make([]Case, len(lockCases))
	for i, c := range lockCases {
		names[i] = c.Case
	}
	return names
}

type lockCase struct {
	Case
	body func(*lockProbe)
}

func (c lockCase) check(ctx context.Context, h LockHarness) Result {
	return run(ctx, c.Case, func(p *probe) { c.body(&lockProbe{probe: p, h: h}) })
}

// lockProbe is a probe of a lock service.
type lockProbe struct {
	*probe
	h LockHarness
}

// longTTL is for cases in which no lease may end.
const longTTL = time.Minute

// patience is how long a case waits for what should come at once, on a machine that is busy with other things.
const patience = 5 * time.Second

// open returns a handle that is closed after the case.
func (p *lockProbe) open() driver.LockService {
	svc, err := p.h.Open(p.ctx)
	p.ok(err, "open")
	p.cleanup(func() { _ = svc.Close() })
	return svc
}

// locker returns a Locker on a handle of its own, closed after the case.
func (p *lockProbe) locker(opts fencerow.Options) *fencerow.Locker {
	svc, err := p.h.Open(p.ctx)
	p.ok(err, "open")
	opts.AllowAsync = true
	lk, err := fencerow.New(svc, &opts)
	p.ok(err, "fencerow.New")
	p.cleanup(func() { _ = lk.Close() })
	return lk
}

// resource returns a name that no other case and no other run uses.
func (p *lockProbe) resource() string { return "kit/" + rand.Text() }

func request(resource string, ttl time.Duration) driver.Request {
	return driver.Request{Resource: resource, GrantID: rand.Text(), Holder: "kit", TTL: ttl}
}

// acquire takes a free resource.
func (p *lockProbe) acquire(svc driver.LockService, resource string, ttl time.Duration) driver.Grant {
	req := request(resource, ttl)
	g, err := svc.Acquire(p.ctx, req)
	p.ok(err, "acquire the free %s", resource)
	switch {
	case g.Number < 1:
		p.broken("the number is %d", g.Number)
	case g.GrantID != req.GrantID || g.Resource != resource:
		p.broken("asked for %+v, granted %+v", req, g)
	case g.TTL <= 0:
		p.broken("the grant has the TTL %v", g.TTL)
	}
	return g
}

// acquireSoon takes a resource whose lease is about to end, and returns how long that took.
func (p *lockProbe) acquireSoon(svc driver.LockService, resource string, within time.Duration) driver.Grant {
	limit := time.Now().Add(within)
	for {
		g, err := svc.Acquire(p.ctx, request(resource, longTTL))
		if err == nil {
			return g
		}
		var held *driver.HeldError
		if !errors.As(err, &held) {
			p.broken("acquire while held: %v, want a *driver.HeldError", err)
		}
		if time.Now().After(limit) {
			p.broken("%s is still held %v later: %v", resource, within, err)
		}
		p.wait(5 * time.Millisecond)
	}
}

// held asserts that somebody has the resource.
func (p *lockProbe) held(svc driver.LockService, resource, when string) *driver.HeldError {
	g, err := svc.Acquire(p.ctx, request(resource, longTTL))
	var held *driver.HeldError
	switch {
	case err == nil:
		p.broken("%s: the resource was granted again, number %d", when, g.Number)
	case !errors.As(err, &held):
		p.broken("%s: acquire says %v, want a *driver.HeldError", when, err)
	}
	return held
}

func (p *lockProbe) notCurrent(err error, what string) {
	if !errors.Is(err, driver.ErrNotCurrent) {
		p.broken("%s: %v, want driver.ErrNotCurrent", what, err)
	}
}

// above asserts that numbers grow.
func (p *lockProbe) above(earlier, later driver.Grant) {
	if later.Number <= earlier.Number {
		p.broken("number %d was granted after number %d", later.Number, earlier.Number)
	}
}

// wait lets time pass that a lock service measures; there is no event to wait for.
func (p *probe) wait(d time.Duration) {
	select {
	case <-time.After(d):
	case <-p.ctx.Done():
		p.broken("the case did not end in time")
	}
}
