package fencerowtest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fencerow/fencerow"
)

// forEach starts a goroutine for each number from 1 to n and ends the case with the first failure.
func (p *fenceProbe) forEach(n int64, what string, fn func(number int64) error) {
	failures := make(chan error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { failures <- fn(i + 1) })
	}
	wg.Wait()
	close(failures)
	for err := range failures {
		p.ok(err, "%s", what)
	}
}

func isStale(err error) bool { return errors.Is(err, fencerow.ErrStale) }

// concurrentHolders lets holders come and go while those before them go on writing. Every accepted write must have been
// computed from the value that it replaced, and what the holders were told must add up to what is stored.
func concurrentHolders(p *fenceProbe) {
	p.need(!p.h.Features.Unserialized, unserialized)
	p.need(p.h.Features.Claims, noClaims)
	p.need(p.h.Features.Steps, noSteps)
	const holders = 8
	r := p.resource()
	var applied, unknown atomic.Int64
	p.forEach(holders, "holder", func(number int64) error {
		return p.grant(r, number).increment(p.random(number), &applied, &unknown)
	})
	value, number, err := p.fence.Load(p.ctx, r)
	p.ok(err, "load")
	if value < applied.Load() || value > applied.Load()+unknown.Load() {
		p.broken("%d increments were applied, the outcome of %d is unknown, and the value is %d", applied.Load(), unknown.Load(), value)
	}
	if number != holders {
		p.broken("the mark is %d, the newest holder is %d", number, holders)
	}
}

// increment claims, and adds one to what it knows until it is told that it is stale. It sends every other stamp twice.
func (h *holder) increment(rng *rand.Rand, applied, unknown *atomic.Int64) error {
	const writes = 6
	// Holders come one after the other, while those before them go on.
	_ = pause(h.p.ctx, time.Duration(h.token.Number())*time.Millisecond+time.Duration(rng.IntN(1000))*time.Microsecond)
	value, err := h.tryClaim()
	if isStale(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("claim under %s: %w", h.token, err)
	}
	for i := range writes {
		_ = pause(h.p.ctx, time.Duration(rng.IntN(300))*time.Microsecond) // busy, or frozen for a moment
		stamp := h.next()
		value++
		for range 1 + i%2 {
			err := h.send(stamp, value)
			switch {
			case err == nil:
				applied.Add(1)
			case errors.Is(err, fencerow.ErrAmbiguous):
				unknown.Add(1)
				return nil // it cannot know from what to go on
			case isStale(err):
				return nil
			case errors.Is(err, fencerow.ErrDuplicate):
			default:
				return fmt.Errorf("write under %s: %w", stamp, err)
			}
		}
	}
	return nil
}

// newestWriterStays holds every form of a fence to the least that one must do. Holders write as they can, older ones too late.
func newestWriterStays(p *fenceProbe) {
	const holders = 10
	r := p.resource()
	writes := int64(1)
	if p.h.Features.Steps || p.h.Features.Rewrites {
		writes = 4
	}
	stop := make(chan struct{})
	watched := make(chan error, 1)
	go func() { watched <- p.watchMark(r, stop) }()
	var answered atomic.Int64 // the highest number whose write was answered with applied
	p.forEach(holders, "holder", func(number int64) error {
		return p.grant(r, number).writeOn(p.random(number), writes, &answered)
	})
	close(stop)
	p.ok(<-watched, "watch the mark")
	p.stores(r, holders*100+writes, holders, "after the newest holder's last write")
}

// writeOn writes until it is told that it is stale.
func (h *holder) writeOn(rng *rand.Rand, writes int64, answered *atomic.Int64) error {
	number := h.token.Number()
	delay := func() { _ = pause(h.p.ctx, time.Duration(rng.IntN(5000))*time.Microsecond) }
	delay()
	if h.p.h.Features.Claims {
		if _, err := h.tryClaim(); isStale(err) {
			return nil
		} else if err != nil {
			return fmt.Errorf("claim under %s: %w", h.token, err)
		}
	}
	for i := range writes {
		delay()
		before := answered.Load()
		err := h.tryWrite(number*100 + i + 1)
		switch {
		case isStale(err):
			return nil
		case err != nil:
			return fmt.Errorf("write under %s: %w", h.token, err)
		case before > number:
			return fmt.Errorf("a write under number %d was accepted after one under number %d", number, before)
		}
		for seen := answered.Load(); seen < number && !answered.CompareAndSwap(seen, number); seen = answered.Load() {
		}
	}
	return nil
}

// watchMark looks at the mark until stop and returns an error if it ever goes down.
func (p *fenceProbe) watchMark(r fencerow.Resource, stop chan struct{}) error {
	var last int64
	for {
		_, number, err := p.fence.Load(p.ctx, r)
		if err != nil {
			return err
		}
		if number < last {
			return fmt.Errorf("the mark went down from %d to %d", last, number)
		}
		last = number
		select {
		case <-stop:
			return nil
		case <-time.After(time.Millisecond):
		}
	}
}

func racingClaimsLeaveTheNewest(p *fenceProbe) {
	p.need(p.h.Features.Claims, noClaims)
	const claims = 12
	r := p.resource()
	p.forEach(claims, "racing claim", func(number int64) error {
		if _, err := p.grant(r, number).tryClaim(); err != nil && !isStale(err) {
			return fmt.Errorf("under number %d: %w", number, err)
		}
		return nil
	})
	p.stores(r, 0, claims, "after racing claims")
}

func racingRetriesAreAppliedOnce(p *fenceProbe) {
	p.need(!p.h.Features.Unserialized, unserialized)
	p.need(p.h.Features.Steps, noSteps)
	const senders = 8
	r := p.resource()
	h := p.grant(r, 5)
	h.claim()
	stamp := h.next()
	var applied, unknown, stored atomic.Int64
	p.forEach(senders, "racing retry", func(value int64) error {
		for {
			err := p.fence.Write(p.ctx, stamp, r, value)
			switch {
			case err == nil:
				applied.Add(1)
				stored.Store(value)
				return nil
			case errors.Is(err, fencerow.ErrDuplicate):
				return nil
			case errors.Is(err, fencerow.ErrAmbiguous):
				unknown.Add(1)
			case !errors.Is(err, fencerow.ErrConflict):
				return err
			}
			if err := pause(p.ctx, time.Millisecond); err != nil {
				return err
			}
		}
	})
	switch {
	case applied.Load() > 1 || applied.Load()+unknown.Load() < 1:
		p.broken("one stamp was applied %d times, and the outcome of %d more is unknown", applied.Load(), unknown.Load())
	case applied.Load() == 1:
		p.stores(r, stored.Load(), 5, "after the retry that was applied")
	}
}
