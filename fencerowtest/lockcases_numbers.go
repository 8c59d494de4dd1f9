package fencerowtest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fencerow/fencerow/driver"
)

func numbersGrowAcrossRelease(p *lockProbe) {
	a, b, resource := p.open(), p.open(), p.resource()
	last := driver.Grant{}
	for i := range 6 {
		svc := []driver.LockService{a, b}[i%2]
		g := p.acquire(svc, resource, longTTL)
		p.above(last, g)
		p.ok(svc.Release(p.ctx, g), "release")
		last = g
	}
}

func numbersGrowAcrossExpiry(p *lockProbe) {
	a, b, resource := p.open(), p.open(), p.resource()
	first := p.acquire(a, resource, p.h.TTL)
	second := p.acquireSoon(b, resource)
	p.above(first, second)
}

func numbersGrowAcrossReopening(p *lockProbe) {
	resource := p.resource()
	svc, err := p.h.Open(p.ctx)
	p.ok(err, "open")
	first := p.acquire(svc, resource, longTTL)
	p.ok(svc.Release(p.ctx, first), "release")
	p.ok(svc.Close(), "close")
	p.above(first, p.acquire(p.open(), resource, longTTL))
}

// numbersGrowAcrossRestart leaves open whether a lease survives the restart, which differs between services.
func numbersGrowAcrossRestart(p *lockProbe) {
	p.need(p.h.Restart != nil, "LockHarness.Restart")
	svc, free, held := p.open(), p.resource(), p.resource()
	first, second := p.acquire(svc, free, longTTL), p.acquire(svc, held, longTTL)
	p.ok(svc.Release(p.ctx, first), "release")
	p.ok(p.h.Restart(p.ctx), "restart")
	svc = p.openSoon()
	p.above(first, p.acquire(svc, free, longTTL))
	if err := svc.Release(p.ctx, second); err != nil {
		p.notCurrent(err, "release of a grant from before the restart")
	}
	p.above(second, p.acquire(svc, held, longTTL))
}

// openSoon opens a service that is starting.
func (p *lockProbe) openSoon() driver.LockService {
	limit := time.Now().Add(p.h.Patience)
	for {
		svc, err := p.h.Open(p.ctx)
		if err == nil {
			p.cleanup(func() { _ = svc.Close() })
			return svc
		}
		if time.Now().After(limit) {
			p.ok(err, "open within %v", p.h.Patience)
		}
		p.wait(20 * time.Millisecond)
	}
}

// racingAcquirersExclude lets contenders on two handles take the lock in turn. Each looks at what the one before it left,
// which is ordered by the lock itself and nothing else.
func racingAcquirersExclude(p *lockProbe) {
	const contenders, rounds = 8, 5
	resource := p.resource()
	handles := []driver.LockService{p.open(), p.open()}
	var inside atomic.Int32
	var last atomic.Int64
	ctx, cancel := context.WithCancelCause(p.ctx) // the first failure ends the others
	defer cancel(nil)
	var wg sync.WaitGroup
	for i := range contenders {
		wg.Go(func() {
			if err := contend(ctx, handles[i%2], resource, rounds, &inside, &last); err != nil {
				cancel(err)
			}
		})
	}
	wg.Wait()
	p.ok(context.Cause(ctx), "contender")
}

func contend(ctx context.Context, svc driver.LockService, resource string, rounds int, inside *atomic.Int32, last *atomic.Int64) error {
	for done := 0; done < rounds; {
		g, err := svc.Acquire(ctx, request(resource, longTTL))
		var held *driver.HeldError
		if errors.As(err, &held) {
			_ = pause(ctx, time.Millisecond) // a contender polls
			continue
		}
		if err != nil {
			return err
		}
		if n := inside.Add(1); n != 1 {
			return fmt.Errorf("%d contenders were granted at once", n)
		}
		if before := last.Swap(g.Number); before >= g.Number {
			return fmt.Errorf("number %d was granted after number %d", g.Number, before)
		}
		inside.Add(-1)
		if err := svc.Release(ctx, g); err != nil {
			return fmt.Errorf("release: %w", err)
		}
		done++
	}
	return nil
}

func repeatedAcquireIsTheSameGrant(p *lockProbe) {
	a, b, resource := p.open(), p.open(), p.resource()
	req := request(resource, longTTL)
	first, err := a.Acquire(p.ctx, req)
	p.ok(err, "acquire")
	again, err := b.Acquire(p.ctx, req) // as after a lost reply, on another connection
	p.ok(err, "the repeated acquire")
	if again.Number != first.Number || again.GrantID != first.GrantID {
		p.broken("the first reply was %+v, the repeated request got %+v", first, again)
	}
	p.ok(a.Release(p.ctx, again), "one release for both")
	p.above(first, p.acquire(a, resource, longTTL))

	other := p.resource()
	p.prolonged(a, other, func(g driver.Grant) error {
		again, err := b.Acquire(p.ctx, driver.Request{Resource: other, GrantID: g.GrantID, Holder: holderName, TTL: longTTL})
		if err == nil && again.Number != g.Number {
			return driver.ErrNotCurrent // the lease ended before, and this is a new one
		}
		return err
	})
	p.held(a, other, "past the TTL of the first request, within that of the repeated one")
}

func seedOnlyRaises(p *lockProbe) {
	svc, other, resource := p.open(), p.open(), p.resource()
	seeder, ok := svc.(driver.Seeder)
	p.need(ok, "driver.Seeder")
	p.ok(seeder.Seed(p.ctx, resource, 1000), "seed a new resource above 1000")
	first := p.acquire(other, resource, longTTL)
	if first.Number <= 1000 {
		p.broken("number %d was granted after a seed above 1000", first.Number)
	}
	p.ok(seeder.Seed(p.ctx, resource, 5), "seed above a lower number")
	p.ok(seeder.Seed(p.ctx, resource, 2000), "seed above 2000 while a lease runs")
	p.held(svc, resource, "after a seed, which must leave the running lease alone")
	again, err := svc.Acquire(p.ctx, driver.Request{Resource: resource, GrantID: first.GrantID, Holder: holderName, TTL: longTTL})
	p.ok(err, "repeat the acquire of the running lease after a seed")
	if again.Number != first.Number {
		p.broken("the number of the running lease was %d and is %d after a seed", first.Number, again.Number)
	}
	p.ok(other.Release(p.ctx, first), "release")
	second := p.acquire(svc, resource, longTTL)
	if second.Number <= 2000 {
		p.broken("number %d was granted after a seed above 2000", second.Number)
	}
	p.ok(seeder.Seed(p.ctx, resource, 1<<53), "seed above 2^53")
	p.ok(svc.Release(p.ctx, second), "release")
	third := p.acquire(svc, resource, longTTL)
	if third.Number <= 1<<53 {
		p.broken("number %d was granted after a seed above 2^53", third.Number)
	}
	p.ok(svc.Release(p.ctx, third), "release")
	p.above(third, p.acquire(svc, resource, longTTL)) // where a float would stand still
}

func seedReachesWaiters(p *lockProbe) {
	svc, other, resource := p.open(), p.open(), p.resource()
	seeder, ok := other.(driver.Seeder)
	p.need(ok, "driver.Seeder")
	first := p.acquire(svc, resource, longTTL)
	answers, _ := p.enqueue(svc, resource, 1, p.steps()[1])
	above := first.Number + 1_000_000
	p.ok(seeder.Seed(p.ctx, resource, above), "seed")
	p.ok(svc.Release(p.ctx, first), "release")
	q := p.next(answers)
	p.ok(q.err, "the waiter")
	if q.grant.Number <= above {
		p.broken("a waiter was granted %d after a seed above %d", q.grant.Number, above)
	}
	again, err := svc.Acquire(p.ctx, q.req)
	p.ok(err, "repeat the acquire of the waiter")
	if again.Number != q.grant.Number {
		p.broken("the waiter was granted number %d, the repeated request got %d", q.grant.Number, again.Number)
	}
}

func retiredIsNotGranted(p *lockProbe) {
	a, b, resource := p.open(), p.open(), p.resource()
	retirer, ok := a.(driver.Retirer)
	p.need(ok, "driver.Retirer")
	g := p.acquire(b, resource, longTTL)
	highest, err := retirer.Retire(p.ctx, resource, "kit:next")
	var held *driver.HeldError
	if !errors.As(err, &held) {
		p.broken("a resource that is held was retired: %d, %v", highest, err)
	}
	p.ok(b.Renew(p.ctx, g, longTTL), "the renewal of the holder after a refused hand-over")
	p.ok(b.Release(p.ctx, g), "release")
	highest, err = retirer.Retire(p.ctx, resource, "kit:next")
	p.ok(err, "retire")
	if highest < g.Number {
		p.broken("number %d was granted and the highest is %d", g.Number, highest)
	}
	for _, svc := range []driver.LockService{a, b, p.open()} {
		p.retired("acquire", func() error {
			_, err := svc.Acquire(p.ctx, request(resource, longTTL))
			return err
		})
		if queue, ok := svc.(driver.Queuer); ok {
			p.retired("wait", func() error {
				_, err := queue.AcquireQueued(p.ctx, request(resource, longTTL))
				return err
			})
		}
	}
	again, err := retirer.Retire(p.ctx, resource, "kit:next")
	p.ok(err, "retire once more")
	if again < highest {
		p.broken("the highest number was %d and is %d", highest, again)
	}
	p.retired("retire for another successor", func() error {
		_, err := b.(driver.Retirer).Retire(p.ctx, resource, "kit:other")
		return err
	})
	if seeder, ok := b.(driver.Seeder); ok {
		p.ok(seeder.Seed(p.ctx, resource, highest+1000), "seed what is retired")
		p.retired("acquire after a seed", func() error {
			_, err := b.Acquire(p.ctx, request(resource, longTTL))
			return err
		})
	}
	if inspector, ok := b.(driver.Inspector); ok {
		s, err := inspector.Inspect(p.ctx, resource)
		p.ok(err, "inspect")
		if s.RetiredTo != "kit:next" || s.Held {
			p.broken("inspect says of what was retired: %+v", s)
		}
	}
	p.acquire(b, p.resource(), longTTL) // others are as they were
}

// retired asserts that an operation says that the resource was handed over.
func (p *lockProbe) retired(what string, operation func() error) {
	var retired *driver.RetiredError
	if err := operation(); !errors.As(err, &retired) || retired.Successor != "kit:next" {
		p.broken("%s of what was handed over: %v, want a *driver.RetiredError that names the successor", what, err)
	}
}

func inspectTellsTheTruth(p *lockProbe) {
	a, b, resource := p.open(), p.open(), p.resource()
	inspector, ok := b.(driver.Inspector)
	p.need(ok, "driver.Inspector")
	look := func() driver.State {
		s, err := inspector.Inspect(p.ctx, resource)
		p.ok(err, "inspect")
		return s
	}
	if s := look(); s != (driver.State{Number: s.Number}) {
		p.broken("a resource that was never granted is %+v", s)
	}
	g := p.acquire(a, resource, longTTL)
	if s := look(); !s.Held || s.Number != g.Number || s.GrantID != g.GrantID || s.Holder != holderName || s.Remaining < 0 || s.Remaining > longTTL {
		p.broken("the grant is %+v, inspect says %+v", g, s)
	}
	p.ok(a.Release(p.ctx, g), "release")
	if s := look(); s.Held || s.Number < g.Number || s.GrantID != "" || s.Holder != "" {
		p.broken("after the release of number %d inspect says %+v", g.Number, s)
	}
	g = p.acquire(a, resource, p.h.TTL)
	p.wait(p.h.TTL + p.h.TTL/2)
	free := look()
	if free.Held || free.Number < g.Number || free.Remaining > 0 {
		p.broken("after the end of the lease of number %d inspect says %+v", g.Number, free)
	}
	if seeder, ok := a.(driver.Seeder); ok {
		p.ok(seeder.Seed(p.ctx, resource, free.Number+1000), "seed")
		if s := look(); s.Held || s.Number < free.Number+1000 {
			p.broken("after a seed above %d inspect says %+v", free.Number+1000, s)
		}
	}
	// What is seen before a grant is a bound for what is granted afterwards, or nobody could seed another service with it.
	bound := look()
	if next := p.acquire(a, resource, longTTL); next.Number <= bound.Number {
		p.broken("inspect says %+v and then number %d is granted", bound, next.Number)
	}
}
