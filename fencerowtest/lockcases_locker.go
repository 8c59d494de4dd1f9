package fencerowtest

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/fencerow/fencerow"
	"github.com/fencerow/fencerow/driver"
)

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

func lockerKeepsItsLease(p *lockProbe) {
	ttl := p.easyTTL()
	lk, other := p.locker(fencerow.Options{TTL: ttl}), p.locker(fencerow.Options{TTL: longTTL})
	resource := fencerow.Resource(p.resource())
	lease, err := lk.Acquire(p.ctx, resource)
	p.ok(err, "acquire")
	for start := time.Now(); time.Since(start) < ttl+ttl/4; {
		p.wait(ttl / 8)
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

// easyTTL is one that a Locker keeps with ease on a machine that is busy with other things.
func (p *lockProbe) easyTTL() time.Duration {
	ttl := p.h.TTL
	for ttl < 3*time.Second {
		ttl *= 2
	}
	return ttl
}

func lockerSaysLost(p *lockProbe) {
	lk, other := p.locker(fencerow.Options{TTL: p.h.TTL, NoRenewal: true}), p.open()
	resource := fencerow.Resource(p.resource())
	lease, err := lk.Acquire(p.ctx, resource)
	p.ok(err, "acquire")
	ctx, cancel := lease.Context(p.ctx)
	defer cancel()
	p.acquireSoon(other, string(resource))
	// The service has ended the lease, so the holder must know by now: its own deadline is earlier.
	if err := lease.Err(); !errors.Is(err, fencerow.ErrLost) {
		p.broken("somebody else is granted and the holder's lease says %v", err)
	}
	select {
	case <-lease.Done():
	default:
		p.broken("the lease says that it is lost, and Done is open")
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

// slowRenewal is a lock service whose renewals are held up on the way to it. It offers nothing optional, so that the Locker
// renews one by one.
type slowRenewal struct {
	driver.LockService
	arrived chan struct{} // has a value when a renewal is under way
	goOn    chan struct{} // closed when renewals may go on

	underWay atomic.Int32
	overtook atomic.Bool // whether a release came while a renewal was under way
}

func (s *slowRenewal) Renew(ctx context.Context, g driver.Grant, ttl time.Duration) error {
	s.underWay.Add(1)
	defer s.underWay.Add(-1)
	select {
	case s.arrived <- struct{}{}:
	default:
	}
	select {
	case <-s.goOn:
	case <-ctx.Done():
	}
	return s.LockService.Renew(ctx, g, ttl)
}

func (s *slowRenewal) Release(ctx context.Context, g driver.Grant) error {
	if s.underWay.Load() > 0 {
		s.overtook.Store(true)
	}
	return s.LockService.Release(ctx, g)
}

func lockerReleasesAfterRenewal(p *lockProbe) {
	resource, other := p.resource(), p.open()
	svc, err := p.h.Open(p.ctx)
	p.ok(err, "open")
	slow := &slowRenewal{LockService: svc, arrived: make(chan struct{}, 1), goOn: make(chan struct{})}
	lease, err := p.lockerOn(slow, fencerow.Options{TTL: p.easyTTL()}).Acquire(p.ctx, fencerow.Resource(resource))
	p.ok(err, "acquire")
	select {
	case <-slow.arrived:
	case <-lease.Done():
		p.broken("the lease ended before it was renewed: %v", lease.Err())
	}
	released := make(chan error, 1)
	go func() { released <- lease.Release(p.ctx) }()
	p.wait(50 * time.Millisecond) // for a release that does not wait
	close(slow.goOn)
	p.ok(<-released, "release during a renewal")
	if slow.overtook.Load() {
		p.broken("the release was sent while a renewal was under way")
	}
	p.acquire(other, resource, longTTL)
}

func closeLeavesNoGoroutine(p *lockProbe) {
	held := p.resource()
	p.acquire(p.open(), held, longTTL)
	waited := make(chan error, 1)
	left := p.ownGoroutines(func() (own string) {
		svc, err := p.h.Open(p.ctx)
		p.ok(err, "open")
		lk, err := fencerow.New(svc, &fencerow.Options{TTL: longTTL, AllowAsync: true})
		p.ok(err, "fencerow.New")
		for range 3 {
			_, err := lk.Acquire(p.ctx, fencerow.Resource(p.resource()))
			p.ok(err, "acquire")
		}
		go func() {
			_, err := lk.Acquire(p.ctx, fencerow.Resource(held))
			waited <- err
		}()
		p.wait(20 * time.Millisecond) // so that it waits
		p.ok(lk.Close(), "close")
		return packageOf(svc)
	})
	select {
	case err := <-waited:
		if !errors.Is(err, fencerow.ErrClosed) {
			p.broken("a waiter of the closed Locker says %v, want ErrClosed", err)
		}
	case <-time.After(p.h.Patience):
		p.broken("a waiter of the Locker still waits %v after Close", p.h.Patience)
	}
	stacks := left()
	for limit := time.Now().Add(p.h.Patience); len(stacks) > 0 && time.Now().Before(limit); stacks = left() {
		p.wait(10 * time.Millisecond)
	}
	if len(stacks) > 0 {
		p.broken("%d goroutines are left after Close, one of them at\n%s", len(stacks), stacks[0])
	}
}
