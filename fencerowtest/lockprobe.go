package fencerowtest

import (
	"crypto/rand"
	"errors"
	"time"

	"github.com/fencerow/fencerow"
	"github.com/fencerow/fencerow/driver"
)

// lockProbe is a probe of a lock service.
type lockProbe struct {
	*probe
	h LockHarness
}

// longTTL is for cases in which no lease may end.
const longTTL = time.Minute

// holderName is what the kit calls itself in requests.
const holderName = "kit"

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
	return p.lockerOn(svc, opts)
}

func (p *lockProbe) lockerOn(svc driver.LockService, opts fencerow.Options) *fencerow.Locker {
	opts.AllowAsync = true
	lk, err := fencerow.New(svc, &opts)
	p.ok(err, "fencerow.New")
	p.cleanup(func() { _ = lk.Close() })
	return lk
}

// resource returns a name that no other case and no other run uses.
func (p *lockProbe) resource() string { return "kit/" + rand.Text() }

func request(resource string, ttl time.Duration) driver.Request {
	return driver.Request{Resource: resource, GrantID: rand.Text(), Holder: holderName, TTL: ttl}
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

// acquireSoon takes a resource whose lease is about to end.
func (p *lockProbe) acquireSoon(svc driver.LockService, resource string) driver.Grant {
	within := p.h.TTL + p.h.Patience
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

// prolonged takes a resource for one TTL, prolongs the lease in the way given, to longTTL, and returns when the first TTL has
// ended. A machine that is slower than the TTL gets a second try with a longer one.
func (p *lockProbe) prolonged(svc driver.LockService, resource string, prolong func(driver.Grant) error) driver.Grant {
	ttl := p.h.TTL
	g := p.acquire(svc, resource, ttl)
	err := prolong(g)
	if errors.Is(err, driver.ErrNotCurrent) {
		ttl *= 10
		g = p.acquire(svc, resource, ttl)
		err = prolong(g)
	}
	p.ok(err, "prolong the running lease of %v", ttl)
	p.wait(ttl + ttl/2)
	return g
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
