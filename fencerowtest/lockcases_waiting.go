package fencerowtest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/fencerow/fencerow"
	"github.com/fencerow/fencerow/driver"
)

// queued is the answer of a waiter in a queue.
type queued struct {
	waiter int
	grant  driver.Grant
	err    error
}

// enqueue starts waiters one after the other and returns when all are in the queue.
func (p *lockProbe) enqueue(svc driver.LockService, resource string, waiters int) (chan queued, []context.CancelFunc) {
	queue, ok := svc.(driver.Queuer)
	if !ok {
		p.notOffered("driver.Queuer")
	}
	answers := make(chan queued, waiters)
	var cancels []context.CancelFunc
	for i := range waiters {
		ctx, cancel := context.WithCancel(p.ctx)
		p.cleanup(cancel)
		cancels = append(cancels, cancel)
		started := make(chan struct{})
		go func() {
			close(started)
			g, err := queue.AcquireQueued(ctx, request(resource, longTTL))
			answers <- queued{i, g, err}
		}()
		<-started
		p.wait(20 * time.Millisecond) // there is no way to see a waiter arrive in a service's queue
	}
	return answers, cancels
}

func (p *lockProbe) next(answers chan queued) queued {
	select {
	case q := <-answers:
		return q
	case <-time.After(p.h.TTL + patience):
		p.broken("no waiter was granted within %v", p.h.TTL+patience)
	}
	return queued{}
}

func queueIsInOrder(p *lockProbe) {
	svc, resource := p.open(), p.resource()
	last := p.acquire(svc, resource, longTTL)
	answers, _ := p.enqueue(svc, resource, 4)
	for want := range 4 {
		p.ok(svc.Release(p.ctx, last), "release")
		q := p.next(answers)
		p.ok(q.err, "waiter %d", q.waiter)
		if q.waiter != want {
			p.broken("waiter %d was granted before waiter %d", q.waiter, want)
		}
		p.above(last, q.grant)
		last = q.grant
	}
}

func cancelledWaiterLeavesTheQueue(p *lockProbe) {
	svc, resource := p.open(), p.resource()
	first := p.acquire(svc, resource, longTTL)
	answers, cancels := p.enqueue(svc, resource, 2)
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

func waiterFollowsADeadHolder(p *lockProbe) {
	svc, resource := p.open(), p.resource()
	first := p.acquire(svc, resource, p.h.TTL)
	answers, _ := p.enqueue(svc, resource, 1)
	q := p.next(answers)
	p.ok(q.err, "waiter")
	p.above(first, q.grant)
}

func everyWaiterIsServed(p *lockProbe) {
	const waiters = 20
	resource := fencerow.Resource(p.resource())
	lockers := []*fencerow.Locker{p.locker(fencerow.Options{TTL: longTTL}), p.locker(fencerow.Options{TTL: longTTL})}
	results := make(chan error, waiters)
	var wg sync.WaitGroup
	for i := range waiters {
		wg.Go(func() {
			results <- lockers[i%2].Do(p.ctx, resource, func(context.Context, *fencerow.Lease) error { return nil })
		})
	}
	wg.Wait()
	close(results)
	for err := range results {
		p.ok(err, "waiter")
	}
}

func lockerKeepsItsLease(p *lockProbe) {
	lk, other := p.locker(fencerow.Options{TTL: 10 * p.h.TTL}), p.locker(fencerow.Options{TTL: longTTL})
	resource := fencerow.Resource(p.resource())
	lease, err := lk.Acquire(p.ctx, resource)
	p.ok(err, "acquire")
	for start := time.Now(); time.Since(start) < 12*p.h.TTL; {
		p.wait(p.h.TTL)
		_, err := other.TryAcquire(p.ctx, resource)
		if lost := lease.Err(); lost != nil {
			p.broken("the lease was lost although the process ran: %v", lost)
		}
		if !errors.Is(err, fencerow.ErrHeld) {
			p.broken("a lease that is renewed was overtaken: %v", err)
		}
	}
	p.ok(lease.Release(p.ctx), "release")
	next, err := other.TryAcquire(p.ctx, resource)
	p.ok(err, "acquire after the release")
	if order, err := next.Token().Compare(lease.Token()); err != nil || order != 1 {
		p.broken("the next token %v compares with %v as %d, %v", next.Token(), lease.Token(), order, err)
	}
}

func lockerSaysLost(p *lockProbe) {
	lk, other := p.locker(fencerow.Options{TTL: p.h.TTL, NoRenewal: true}), p.open()
	resource := fencerow.Resource(p.resource())
	lease, err := lk.Acquire(p.ctx, resource)
	p.ok(err, "acquire")
	ctx, cancel := lease.Context(p.ctx)
	defer cancel()
	p.acquireSoon(other, string(resource), p.h.TTL+patience)
	// The service has ended the lease, so the holder must know by now: its own deadline is earlier.
	if err := lease.Err(); !errors.Is(err, fencerow.ErrLost) {
		p.broken("somebody else is granted and the holder's lease says %v", err)
	}
	<-ctx.Done()
	if cause := context.Cause(ctx); !errors.Is(cause, fencerow.ErrLost) {
		p.broken("the context ended with the cause %v", cause)
	}
	if err := lease.Release(p.ctx); !errors.Is(err, fencerow.ErrLost) {
		p.broken("the release of a lost lease says %v", err)
	}
	p.held(other, string(resource), "after the late release")
}

func cancelledWaitLeavesNothing(p *lockProbe) {
	holder, waiter := p.locker(fencerow.Options{TTL: longTTL}), p.locker(fencerow.Options{TTL: longTTL})
	resource := fencerow.Resource(p.resource())
	lease, err := holder.Acquire(p.ctx, resource)
	p.ok(err, "acquire")
	ctx, cancel := context.WithTimeout(p.ctx, 50*time.Millisecond)
	defer cancel()
	if _, err := waiter.Acquire(ctx, resource); !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, fencerow.ErrHeld) {
		p.broken("a wait that timed out says %v, want ErrHeld and the context's error", err)
	}
	p.ok(lease.Release(p.ctx), "release")
	next, err := holder.TryAcquire(p.ctx, resource)
	p.ok(err, "acquire after the waiter gave up and the holder released")
	p.ok(next.Release(p.ctx), "release")
}

func closeLeavesNoGoroutine(p *lockProbe) {
	before := ownGoroutines()
	svc, err := p.h.Open(p.ctx)
	p.ok(err, "open")
	lk, err := fencerow.New(svc, &fencerow.Options{TTL: longTTL, AllowAsync: true})
	p.ok(err, "fencerow.New")
	for range 3 {
		_, err := lk.Acquire(p.ctx, fencerow.Resource(p.resource()))
		p.ok(err, "acquire")
	}
	p.ok(lk.Close(), "close")
	left := ownGoroutines()
	for limit := time.Now().Add(patience); left > before && time.Now().Before(limit); left = ownGoroutines() {
		p.wait(10 * time.Millisecond)
	}
	if left > before {
		p.broken("%d goroutines of Fencerow are left after Close", left-before)
	}
}

// ownGoroutines counts goroutines that run code of this project below the kit.
func ownGoroutines() (n int) {
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	for _, stack := range strings.Split(string(stacks), "\n\n") {
		if strings.Contains(stack, "fencerow/fencerow") && !strings.Contains(stack, "fencerowtest.") && !strings.Contains(stack, "testing.") {
			n++
		}
	}
	return n
}

func sourceIsOne(p *lockProbe) {
	a, b := p.open().Info(), p.open().Info()
	if a != b {
		p.broken("two handles describe the service as %+v and %+v", a, b)
	}
	if _, err := fencerow.ParseToken(fmt.Sprintf("v1:1:g:%s:kit/x", percent(a.Source))); err != nil {
		p.broken("the source %q fits in no token: %v", a.Source, err)
	}
	switch a.Guarantee {
	case driver.Replicated, driver.SingleNode, driver.Async:
	default:
		p.broken("the service declares %v", a.Guarantee)
	}
}
