package fencerowtest

import (
	"context"
	"errors"
	"time"

	"github.com/fencerow/fencerow/driver"
)

// wired returns a handle whose way to the server is in the hands of the case, after its first use, so that what it sets up once
// is not what the fault hits.
func (p *lockProbe) wired() (driver.LockService, Wire) {
	p.need(p.h.OpenWired != nil, "LockHarness.OpenWired")
	svc, wire, err := p.h.OpenWired(p.ctx)
	p.ok(err, "open")
	p.cleanup(func() { _ = svc.Close() })
	for _, ttl := range []time.Duration{p.h.TTL, longTTL} {
		g := p.acquire(svc, p.resource(), ttl)
		p.ok(svc.Renew(p.ctx, g, longTTL), "renew")
		p.ok(svc.Release(p.ctx, g), "release")
	}
	return svc, wire
}

// faultTime is how long a request is left without its answer.
func (p *lockProbe) faultTime() time.Duration { return p.h.Patience / 10 }

// unanswered sends a request that gets no answer in time.
func (p *lockProbe) unanswered(what string, send func(context.Context) error) {
	ctx, cancel := context.WithTimeout(p.ctx, p.faultTime())
	defer cancel()
	switch err := send(ctx); {
	case err == nil:
		p.broken("%s succeeded although no answer came through", what)
	case errors.Is(err, driver.ErrNotCurrent):
		p.broken("%s says that the grant is not current although no answer came through", what)
	}
}

// soon repeats an operation while the connection recovers.
func (p *lockProbe) soon(what string, send func() error) error {
	var held *driver.HeldError
	for limit := time.Now().Add(p.h.Patience); ; {
		err := send()
		if err == nil || errors.Is(err, driver.ErrNotCurrent) || errors.As(err, &held) {
			return err
		}
		if time.Now().After(limit) {
			p.ok(err, "%s, within %v after the connection was restored", what, p.h.Patience)
		}
		p.wait(20 * time.Millisecond)
	}
}

func lostReplyOfAnAcquireIsResolved(p *lockProbe) {
	svc, wire := p.wired()
	other, resource := p.open(), p.resource()
	req := request(resource, longTTL)
	wire.LoseReplies()
	p.unanswered("an acquire", func(ctx context.Context) error {
		_, err := svc.Acquire(ctx, req)
		return err
	})
	first, ofFirst := driver.State{}, false
	if inspector, ok := other.(driver.Inspector); ok {
		var err error
		first, err = inspector.Inspect(p.ctx, resource)
		p.ok(err, "inspect")
		ofFirst = first.Held // else the request has not arrived yet
	}
	wire.Restore()
	var g driver.Grant
	p.ok(p.soon("the acquire once more", func() (err error) {
		g, err = svc.Acquire(p.ctx, req)
		return err
	}), "the acquire once more")
	if ofFirst && (g.Number != first.Number || g.GrantID != first.GrantID) {
		p.broken("the service had granted %+v, and the same request once more got %+v", first, g)
	}
	p.held(other, resource, "after an acquire that was sent twice")
	p.ok(svc.Release(p.ctx, g), "one release for both")
	p.above(g, p.acquire(other, resource, longTTL))
}

// lostAcquireIsGivenBack does what the Locker does after an acquire whose outcome it does not know.
func lostAcquireIsGivenBack(p *lockProbe) {
	svc, wire := p.wired()
	other, resource := p.open(), p.resource()
	req := request(resource, longTTL)
	wire.LoseReplies()
	p.unanswered("an acquire", func(ctx context.Context) error {
		_, err := svc.Acquire(ctx, req)
		return err
	})
	wire.Restore()
	err := p.soon("release by grant id", func() error {
		return svc.Release(p.ctx, driver.Grant{Resource: resource, GrantID: req.GrantID})
	})
	if err != nil {
		p.notCurrent(err, "release of an acquire whose reply was lost")
	}
	p.acquireSoon(other, resource)
}

func lostReplyOfARenewalIsNoLoss(p *lockProbe) {
	svc, wire := p.wired()
	other, resource := p.open(), p.resource()
	g := p.acquire(svc, resource, longTTL)
	wire.LoseReplies()
	p.unanswered("a renewal", func(ctx context.Context) error { return svc.Renew(ctx, g, longTTL) })
	wire.Restore()
	p.ok(p.soon("the next renewal", func() error { return svc.Renew(p.ctx, g, longTTL) }), "the renewal after one whose reply was lost")
	p.held(other, resource, "after a renewal whose reply was lost")
	p.ok(svc.Release(p.ctx, g), "release")
	p.acquire(other, resource, longTTL)
}

func lostWaiterLeavesTheQueue(p *lockProbe) {
	svc, wire := p.wired()
	queue, ok := svc.(driver.Queuer)
	p.need(ok, "driver.Queuer")
	other, resource := p.open(), p.resource()
	holder := p.acquire(other, resource, longTTL)
	wire.LoseReplies()
	p.unanswered("a wait", func(ctx context.Context) error {
		_, err := queue.AcquireQueued(ctx, request(resource, p.h.TTL))
		return err
	})
	wire.Restore()
	p.ok(other.Release(p.ctx, holder), "release")
	p.above(holder, p.acquireSoon(other, resource))
}

// lateRequestsChangeNothing delivers what a holder has sent before it was superseded after it was superseded.
func lateRequestsChangeNothing(p *lockProbe) {
	for what, send := range map[string]func(driver.LockService, context.Context, driver.Grant) error{
		"a renewal": func(svc driver.LockService, ctx context.Context, g driver.Grant) error {
			return svc.Renew(ctx, g, longTTL)
		},
		"a release": func(svc driver.LockService, ctx context.Context, g driver.Grant) error { return svc.Release(ctx, g) },
	} {
		svc, wire := p.wired()
		other, resource := p.open(), p.resource()
		first := p.acquire(svc, resource, p.h.TTL)
		wire.HoldRequests()
		p.unanswered(what, func(ctx context.Context) error { return send(svc, ctx, first) })
		second := p.acquireSoon(other, resource)
		p.above(first, second)
		wire.Restore()
		p.wait(p.faultTime()) // for the request to arrive
		p.held(other, resource, "after "+what+" that came late")
		p.ok(other.Release(p.ctx, second), "the new holder's release after %s that came late", what)
		p.above(second, p.acquire(other, resource, longTTL))
	}
}

// lostAcquireEnds loses the reply of an acquire, or delivers it after it was given up, and its clean-up never arrives. What it
// takes nobody knows of, so it must end with its TTL.
func lostAcquireEnds(p *lockProbe) {
	for what, fault := range map[string]func(Wire){
		"whose reply was lost": Wire.LoseReplies,
		"that came late":       Wire.HoldRequests,
	} {
		svc, wire := p.wired()
		other, resource := p.open(), p.resource()
		fault(wire)
		p.unanswered("an acquire", func(ctx context.Context) error {
			_, err := svc.Acquire(ctx, request(resource, p.h.TTL))
			return err
		})
		wire.Restore()
		// A handle that goes on working must not keep alive what it does not know of.
		for limit := time.Now().Add(2 * p.h.TTL); time.Now().Before(limit); p.wait(p.h.TTL / 10) {
			_ = p.soon("another acquire", func() error {
				g, err := svc.Acquire(p.ctx, request(p.resource(), p.h.TTL))
				if err != nil {
					return err
				}
				return svc.Release(p.ctx, g)
			})
		}
		if _, err := other.Acquire(p.ctx, request(resource, longTTL)); err != nil {
			p.broken("an acquire %s still has the resource after twice its TTL: %v", what, err)
		}
	}
}
