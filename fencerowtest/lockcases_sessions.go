package fencerowtest

import (
	"context"
	"errors"
	"time"

	"github.com/fencerow/fencerow/driver"
)

func waiterSaysThatItsSessionEnded(p *lockProbe) {
	p.need(p.h.EndSession != nil, "LockHarness.EndSession")
	holder, svc, resource := p.open(), p.open(), p.resource()
	_, ok := svc.(driver.Queuer)
	p.need(ok, "driver.Queuer")
	g := p.acquire(holder, resource, longTTL)
	answers, _ := p.enqueue(svc, resource, 1, p.steps()[1])
	p.ok(p.h.EndSession(p.ctx, svc), "end the session of the waiter")
	q := p.next(answers)
	if q.err == nil || errors.Is(q.err, context.Canceled) {
		p.broken("a waiter whose session has ended while another one holds the resource is answered %+v", q)
	}
	p.ok(holder.Release(p.ctx, g), "release")
	p.above(g, p.acquire(holder, resource, longTTL))
}

func endOfTheSessionEndsTheLease(p *lockProbe) {
	p.need(p.h.EndSession != nil, "LockHarness.EndSession")
	svc, other, resource := p.open(), p.open(), p.resource()
	g := p.acquire(svc, resource, longTTL)
	p.ok(p.h.EndSession(p.ctx, svc), "end the session of the holder")
	next := p.acquireSoon(other, resource)
	p.above(g, next)
	p.notCurrent(p.soon("renew", func() error { return svc.Renew(p.ctx, g, longTTL) }), "a renewal after the session has ended")
	p.notCurrent(p.soon("release", func() error { return svc.Release(p.ctx, g) }), "a release after the session has ended")
	p.held(other, resource, "after the late requests of a holder whose session has ended")
	// The handle works on, in another session.
	var again driver.Grant
	p.ok(p.soon("acquire", func() (err error) {
		again, err = svc.Acquire(p.ctx, request(p.resource(), longTTL))
		return err
	}), "acquire after the session has ended")
	p.ok(svc.Renew(p.ctx, again, longTTL), "renew in the new session")
}

func numbersGrowAcrossFailover(p *lockProbe) {
	p.need(p.h.Failover != nil, "LockHarness.Failover")
	svc, free, held := p.open(), p.resource(), p.resource()
	first, second := p.acquire(svc, free, longTTL), p.acquire(svc, held, longTTL)
	p.ok(svc.Release(p.ctx, first), "release")
	waiting := make(chan error, 1)
	go func() { waiting <- p.h.Failover(p.ctx) }()
	// Meanwhile somebody goes on asking: whatever is granted on the way must fit in.
	last := first
	for over := false; !over; {
		select {
		case err := <-waiting:
			p.ok(err, "fail-over")
			over = true
		default:
		}
		ctx, cancel := context.WithTimeout(p.ctx, time.Second)
		req := request(free, p.h.TTL)
		g, err := svc.Acquire(ctx, req)
		if err == nil {
			p.above(last, g)
			last = g
		}
		_ = svc.Release(ctx, driver.Grant{Resource: free, GrantID: req.GrantID}) // or it ends with its TTL
		cancel()
		p.wait(5 * time.Millisecond)
	}
	svc = p.openSoon()
	p.above(last, p.acquireSoon(svc, free))
	if err := p.soon("release", func() error { return svc.Release(p.ctx, second) }); err != nil {
		p.notCurrent(err, "release of a grant from before the fail-over")
	}
	p.above(second, p.acquire(svc, held, longTTL))
}
