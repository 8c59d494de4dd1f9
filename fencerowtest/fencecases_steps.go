package fencerowtest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fencerow/fencerow"
)

func stampIsAppliedOnce(p *fenceProbe) {
	p.need(p.h.Features.Steps, "steps are not stored")
	r := p.resource()
	h := p.grant(r, 5)
	h.claim()
	stamp := h.next()
	p.ok(p.fence.Write(p.ctx, stamp, r, 50), "write")
	for range 3 {
		p.refused(p.fence.Write(p.ctx, stamp, r, 666), fencerow.Duplicate, "a stamp that was applied before")
	}
	p.stores(r, 50, 5, "after the stamp was sent four times")
}

func grantWritesManyTimes(p *fenceProbe) {
	p.need(p.h.Features.Steps || p.h.Features.Rewrites, "a grant writes once")
	r := p.resource()
	h := p.grant(r, 5)
	h.claim()
	for value := range int64(5) {
		h.write(value)
		p.stores(r, value, 5, "after a write of the same grant")
	}
}

func grantWritesOnce(p *fenceProbe) {
	p.need(!p.h.Features.Steps && !p.h.Features.Rewrites, "a grant writes any number of times")
	r := p.resource()
	h := p.grant(r, 5)
	h.write(50)
	p.refused(h.tryWrite(51), fencerow.Duplicate, "the second write of a grant")
	p.stores(r, 50, 5, "after the second write")
}

func stepsStayInOrder(p *fenceProbe) {
	p.need(p.h.Features.Steps, "steps are not stored")
	r := p.resource()
	h := p.grant(r, 5)
	h.claim()
	early, late := h.next(), h.next()
	p.ok(p.fence.Write(p.ctx, late, r, 52), "write of the later step")
	p.refused(p.fence.Write(p.ctx, early, r, 51), fencerow.OutOfOrder, "an earlier step after a later one")
	p.stores(r, 52, 5, "after the delayed step")
	successor := p.grant(r, 6)
	successor.claim()
	successor.step = 0
	successor.write(60) // step 1 of a newer grant comes after every step of an older one
}

func refusalLeavesNoTrace(p *fenceProbe) {
	r := p.resource()
	h := p.grant(r, 9)
	h.claim()
	h.write(90)
	older := p.grant(r, 8)
	older.step = 1000
	for range 3 {
		p.refused(older.tryWrite(666), fencerow.Stale, "a stale write")
		p.stores(r, 90, 9, "after a refused write")
	}
	if p.h.Features.Steps {
		h.write(91) // the steps of the refused grant were not recorded
		p.stores(r, 91, 9, "after the holder went on")
	}
}

func cancelledContextIsNoFalseAnswer(p *fenceProbe) {
	r := p.resource()
	h := p.grant(r, 5)
	h.claim()
	ctx, cancel := context.WithCancel(p.ctx)
	cancel()
	err := p.fence.Write(ctx, h.next(), r, 50)
	value, _, loadErr := p.fence.Load(p.ctx, r)
	p.ok(loadErr, "load")
	switch {
	case err == nil && value != 50:
		p.broken("a write with a cancelled context says applied, and the value is %d", value)
	case err != nil && !errors.Is(err, fencerow.ErrAmbiguous) && value != 0:
		p.broken("a write with a cancelled context says %v, and it was applied", err)
	}
}

// concurrentHolders lets holders come and go while those before them go on writing. Every accepted write must have been
// computed from the value that it replaced, and what the holders were told must add up to what is stored.
func concurrentHolders(p *fenceProbe) {
	p.need(p.h.Features.Claims && p.h.Features.Steps, "there is no claim or there are no steps")
	const holders, writes = 8, 6
	seed := rand.Uint64()
	r := p.resource()
	var applied atomic.Int64
	failures := make(chan error, holders)
	var wg sync.WaitGroup
	for n := range int64(holders) {
		rng := rand.New(rand.NewPCG(seed, uint64(n)))
		h := p.grant(r, n+1)
		wg.Go(func() { failures <- h.increment(rng, writes, &applied) })
	}
	wg.Wait()
	close(failures)
	for err := range failures {
		if err != nil {
			p.broken("seed %d: %v", seed, err)
		}
	}
	value, number, err := p.fence.Load(p.ctx, r)
	p.ok(err, "load")
	if value != applied.Load() {
		p.broken("seed %d: %d increments were applied and the value is %d", seed, applied.Load(), value)
	}
	if number != holders {
		p.broken("seed %d: the mark is %d, the newest holder is %d", seed, number, holders)
	}
}

// increment claims, and adds one to what it knows until it is told that it is stale.
func (h *holder) increment(rng *rand.Rand, writes int, applied *atomic.Int64) error {
	ctx, fence, r := h.p.ctx, h.p.fence, h.token.Resource()
	stale := func(err error) bool { return errors.Is(err, fencerow.ErrStale) }
	// Holders come one after the other, while those before them go on.
	time.Sleep(time.Duration(h.token.Number())*time.Millisecond + time.Duration(rng.IntN(1000))*time.Microsecond)
	value, err := fence.Claim(ctx, h.next(), r)
	if stale(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("claim under %s: %w", h.token, err)
	}
	for range writes {
		time.Sleep(time.Duration(rng.IntN(300)) * time.Microsecond) // busy, or frozen for a moment
		stamp := h.next()
		for range 1 + rng.IntN(2) { // now and then a retry of what was applied
			err := fence.Write(ctx, stamp, r, value+1)
			switch {
			case err == nil:
				value++
				applied.Add(1)
			case stale(err):
				return nil
			case errors.Is(err, fencerow.ErrDuplicate):
			default:
				return fmt.Errorf("write under %s: %w", stamp, err)
			}
		}
	}
	return nil
}

func racingClaimsLeaveTheNewest(p *fenceProbe) {
	p.need(p.h.Features.Claims, "there is no claim")
	const claims = 12
	r := p.resource()
	failures := make(chan error, claims)
	var wg sync.WaitGroup
	for n := range int64(claims) {
		h := p.grant(r, n+1)
		wg.Go(func() {
			_, err := p.fence.Claim(p.ctx, h.next(), r)
			if err != nil && !errors.Is(err, fencerow.ErrStale) {
				failures <- fmt.Errorf("claim under %s: %w", h.token, err)
				return
			}
			failures <- nil
		})
	}
	wg.Wait()
	close(failures)
	for err := range failures {
		p.ok(err, "racing claim")
	}
	p.stores(r, 0, claims, "after racing claims")
}

func racingRetriesAreAppliedOnce(p *fenceProbe) {
	p.need(p.h.Features.Steps, "steps are not stored")
	const senders = 8
	r := p.resource()
	h := p.grant(r, 5)
	h.claim()
	stamp := h.next()
	var applied atomic.Int64
	failures := make(chan error, senders)
	var wg sync.WaitGroup
	for value := range int64(senders) {
		wg.Go(func() {
			err := p.fence.Write(p.ctx, stamp, r, value+1)
			switch {
			case err == nil:
				applied.Add(1)
				failures <- nil
			case errors.Is(err, fencerow.ErrDuplicate):
				failures <- nil
			default:
				failures <- err
			}
		})
	}
	wg.Wait()
	close(failures)
	for err := range failures {
		p.ok(err, "racing retry")
	}
	if applied.Load() != 1 {
		p.broken("one stamp was applied %d times", applied.Load())
	}
}
