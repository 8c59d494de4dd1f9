package fencerowtest

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/fencerow/fencerow"
	"github.com/fencerow/fencerow/driver"
)

// queued is the answer of a waiter in a queue.
type queued struct {
	waiter int
	req    driver.Request
	grant  driver.Grant
	err    error
}

// enqueue starts waiters one after the other. There is no way to see a waiter arrive in a service's queue; apart is the time
// that each is given for it.
func (p *lockProbe) enqueue(svc driver.LockService, resource string, waiters int, apart time.Duration) (chan queued, []context.CancelFunc) {
	queue, ok := svc.(driver.Queuer)
	p.need(ok, "driver.Queuer")
	answers := make(chan queued, waiters)
	var cancels []context.CancelFunc
	for i := range waiters {
		ctx, cancel := context.WithCancel(p.ctx)
		p.cleanup(cancel)
		cancels = append(cancels, cancel)
		req := request(resource, longTTL)
		go func() {
			g, err := queue.AcquireQueued(ctx, req)
			answers <- queued{i, req, g, err}
		}()
		p.wait(apart)
	}
	return answers, cancels
}

func (p *lockProbe) next(answers chan queued) queued {
	within := p.h.TTL + p.h.Patience
	select {
	case q := <-answers:
		return q
	case <-time.After(within):
		p.broken("no waiter was answered within %v", within)
	}
	return queued{}
}

// steps are the times that a case tries in turn where there is no event to wait for. A busy machine may need the longer ones.
func (p *lockProbe) steps() []time.Duration {
	return []time.Duration{p.h.Patience / 250, p.h.Patience / 50, p.h.Patience / 10}
}

func queueIsInOrder(p *lockProbe) {
	svc := p.open()
	var order []int
	for _, apart := range p.steps() {
		var inOrder bool
		if order, inOrder = p.orderOfGrants(svc, apart); inOrder {
			return
		}
	}
	p.broken("waiters that came one after the other were granted in the order %v", order)
}

// orderOfGrants returns the order in which waiters are granted that come one after the other.
func (p *lockProbe) orderOfGrants(svc driver.LockService, apart time.Duration) (order []int, inOrder bool) {
	const waiters = 5
	resource := p.resource()
	last := p.acquire(svc, resource, longTTL)
	answers, _ := p.enqueue(svc, resource, waiters, apart)
	inOrder = true
	for want := range waiters {
		p.ok(svc.Release(p.ctx, last), "release")
		q := p.next(answers)
		p.ok(q.err, "waiter %d", q.waiter)
		p.above(last, q.grant)
		order = append(order, q.waiter)
		inOrder = inOrder && q.waiter == want
		last = q.grant
	}
	return order, inOrder
}

// repeatedWaiterIsTheSameGrant repeats the request of a waiter that was granted, and that of one that did not have to wait.
func repeatedWaiterIsTheSameGrant(p *lockProbe) {
	svc, resource := p.open(), p.resource()
	queue, ok := svc.(driver.Queuer)
	p.need(ok, "driver.Queuer")
	req := request(resource, longTTL)
	ctx, cancel := context.WithTimeout(p.ctx, p.h.Patience)
	defer cancel()
	first, err := queue.AcquireQueued(ctx, req)
	p.ok(err, "a wait for what is free")
	again := func(req driver.Request, g driver.Grant) {
		repeated, err := queue.AcquireQueued(ctx, req)
		p.ok(err, "the repetition of a wait that was granted")
		if repeated.Number != g.Number || repeated.GrantID != g.GrantID {
			p.broken("the wait was granted %+v and its repetition %+v", g, repeated)
		}
	}
	again(req, first)
	answers, _ := p.enqueue(svc, resource, 1, p.steps()[0])
	p.ok(svc.Release(p.ctx, first), "release")
	q := p.next(answers)
	p.ok(q.err, "the waiter")
	p.above(first, q.grant)
	again(q.req, q.grant)
	p.ok(svc.Release(p.ctx, q.grant), "release after a repeated wait")
	p.acquire(svc, resource, longTTL)
}

func cancelledWaiterLeavesTheQueue(p *lockProbe) {
	svc, resource := p.open(), p.resource()
	first := p.acquire(svc, resource, longTTL)
	answers, cancels := p.enqueue(svc, resource, 2, p.steps()[0])
	cancels[0]()
	if q := p.next(answers); q.waiter != 0 || !errors.Is(q.err, context.Canceled) {
		p.broken("the cancelled waiter 0 is answered %+v", q)
	}
	p.ok(svc.Release(p.ctx, first), "release")
	q := p.next(answers)
	p.ok(q.err, "the waiter behind the cancelled one")
	p.ok(svc.Release(p.ctx, q.grant), "release")
	p.acquire(svc, resource, longTTL)
}

// cancelRacesHandOver cancels the first waiter while the lock is handed over to it.
func cancelRacesHandOver(p *lockProbe) {
	svc, rng := p.open(), p.random(0)
	for range 10 {
		resource := p.resource()
		held := p.acquire(svc, resource, longTTL)
		answers, cancels := p.enqueue(svc, resource, 2, time.Millisecond)
		time.AfterFunc(time.Duration(rng.Int64N(int64(time.Millisecond))), cancels[0])
		p.ok(svc.Release(p.ctx, held), "release")
		for range 2 {
			q := p.next(answers)
			if q.err != nil && q.waiter != 0 {
				p.broken("waiter %d, which nobody cancelled: %v", q.waiter, q.err)
			}
			p.giveBack(svc, q.req) // also what the cancelled one may have been granted
		}
		p.acquire(svc, resource, longTTL)
	}
}

func waiterFollowsADeadHolder(p *lockProbe) {
	svc, resource := p.open(), p.resource()
	first := p.acquire(svc, resource, p.h.TTL)
	answers, _ := p.enqueue(svc, resource, 1, 0)
	q := p.next(answers)
	p.ok(q.err, "waiter")
	p.above(first, q.grant)
}

// waitIsWokenByRelease repeats the release: a signal may be lost, and the wait may have begun after it.
func waitIsWokenByRelease(p *lockProbe) {
	a, b, resource := p.open(), p.open(), p.resource()
	waiter, ok := b.(driver.Waiter)
	p.need(ok, "driver.Waiter")
	start := func() (chan error, context.CancelFunc) {
		ctx, cancel := context.WithCancel(p.ctx)
		p.cleanup(cancel)
		ended := make(chan error, 1)
		go func() { ended <- waiter.Wait(ctx, resource) }()
		return ended, cancel
	}

	woken, _ := start()
	for limit := time.Now().Add(p.h.Patience); ; {
		g := p.acquire(a, resource, longTTL)
		p.ok(a.Release(p.ctx, g), "release")
		select {
		case err := <-woken:
			p.ok(err, "wait")
		case <-time.After(20 * time.Millisecond):
			if time.Now().After(limit) {
				p.broken("releases within %v have not ended the wait", p.h.Patience)
			}
			continue
		}
		break
	}

	p.acquire(a, resource, longTTL)
	ended, cancel := start()
	cancel()
	select {
	case <-ended: // woken at random or cancelled
	case <-time.After(p.h.Patience):
		p.broken("the wait goes on %v after its context has ended", p.h.Patience)
	}
}

func everyWaiterIsServed(p *lockProbe) { p.serve(20, 2) }

func twoHundredWaitersAreServed(p *lockProbe) { p.serve(200, 4) }

// serve lets waiters contend on several Lockers for what one of them holds.
func (p *lockProbe) serve(waiters, lockers int) {
	within := 8 * p.h.Patience
	resource := fencerow.Resource(p.resource())
	var all []*fencerow.Locker
	for range lockers {
		all = append(all, p.locker(fencerow.Options{TTL: longTTL}))
	}
	holder, err := all[0].Acquire(p.ctx, resource)
	p.ok(err, "acquire")
	ctx, cancel := context.WithTimeout(p.ctx, within)
	defer cancel()
	results := make(chan error, waiters)
	var wg sync.WaitGroup
	for i := range waiters {
		wg.Go(func() {
			results <- all[i%lockers].Do(ctx, resource, func(context.Context, *fencerow.Lease) error { return nil })
		})
	}
	p.wait(50 * time.Millisecond) // so that most of them wait
	p.ok(holder.Release(p.ctx), "release")
	wg.Wait()
	close(results)
	stuck, first := 0, error(nil)
	for err := range results {
		if err != nil {
			stuck, first = stuck+1, err
		}
	}
	if stuck > 0 {
		p.broken("%d of %d waiters were not served within %v: %v", stuck, waiters, within, first)
	}
}

// cancelledWaitLeavesNothing tries longer waits in turn: on a busy machine the first answer may come after the end of a short
// one, which then does not know who is in the way.
func cancelledWaitLeavesNothing(p *lockProbe) {
	holder, waiter := p.locker(fencerow.Options{TTL: longTTL}), p.locker(fencerow.Options{TTL: longTTL})
	resource := fencerow.Resource(p.resource())
	lease, err := holder.Acquire(p.ctx, resource)
	p.ok(err, "acquire")
	for _, limit := range p.steps() {
		ctx, cancel := context.WithTimeout(p.ctx, limit)
		_, err = waiter.Acquire(ctx, resource)
		cancel()
		if err == nil || errors.Is(err, fencerow.ErrHeld) {
			break
		}
	}
	if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, fencerow.ErrHeld) {
		p.broken("a wait that timed out says %v, want ErrHeld and the context's error", err)
	}
	p.ok(lease.Release(p.ctx), "release")
	next, err := holder.TryAcquire(p.ctx, resource)
	p.ok(err, "acquire after the waiter gave up and the holder released")
	p.ok(next.Release(p.ctx), "release")
}
