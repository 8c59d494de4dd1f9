package fencerowtest

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/fencerow/fencerow"
)

func frozenBeforeTheClaim(p *fenceProbe) {
	p.need(p.h.Features.Claims, noClaims)
	r := p.resource()
	a, b := p.grant(r, 33), p.grant(r, 34)
	// A is frozen right after its grant. B comes, works and goes.
	b.claim()
	b.write(340)
	_, err := a.tryClaim() // A wakes
	p.stale(err, 33, 34, "the claim of the holder that woke")
	p.stale(a.tryWrite(666), 33, 34, "its write without the claim")
	p.stores(r, 340, 34, "after the holder that woke has tried")
}

func thawedBeforeTheClaim(p *fenceProbe) {
	p.need(p.h.Features.Claims, noClaims)
	r := p.resource()
	a, b := p.grant(r, 33), p.grant(r, 34)
	value := a.claim() // A is frozen, its lease ends, and B is granted the resource
	a.write(value + 7) // A wakes before B's claim: nothing has told the store of B yet
	if seen := b.claim(); seen != value+7 {
		p.broken("the older holder's write was accepted, the value is %d, and the newer one's claim returned %d", value+7, seen)
	}
	p.stale(a.tryWrite(666), 33, 34, "a write after the claim")
	p.stores(r, value+7, 34, "after both")
}

// sourceThatStepsBack is the counterexample of the model for a lax claim: numbers that are issued again after a fail-over or a restore.
func sourceThatStepsBack(p *fenceProbe) {
	p.need(p.h.Features.Claims, "the grant is not stored: the holders of a number that is issued twice are all accepted")
	r := p.resource()
	before := p.grant(r, 5)
	before.claim()
	before.write(50)
	again := p.grant(r, 4)
	again.refusedClaim(fencerow.Stale, "a claim of a number that was issued before")
	twin := p.grant(r, 5)
	twin.refusedClaim(fencerow.TokenReused, "a claim of the very number that is stored")
	twin.step = 100
	p.refused(twin.tryWrite(666), fencerow.TokenReused, "a write of the twin")
	before.write(51) // the owner of the number goes on
	next := p.grant(r, 6)
	if seen := next.claim(); seen != 51 {
		p.broken("after the numbers have caught up a claim returned %d, the value is 51", seen)
	}
	next.write(60)
	p.stores(r, 60, 6, "after the numbers have caught up")
}

// transferKeepsTheSum is the counterexample of the model for rows that are fenced one by one: a take-over between the two writes.
func transferKeepsTheSum(p *fenceProbe) {
	pair, ok := p.fence.(Transferrer)
	p.need(ok, "fencerowtest.Transferrer: one stamp covers one value")
	p.need(p.h.Features.Claims, noClaims)
	p.need(p.h.Features.Steps, noSteps)
	const holders, transfers = 6, 6
	r := p.resource()
	var applied, unknown atomic.Int64
	p.forEach(holders, "holder", func(number int64) error {
		rng := p.random(number)
		h := p.grant(r, number)
		_ = pause(p.ctx, time.Duration(number)*2*time.Millisecond)
		if _, err := h.tryClaim(); err != nil {
			return unlessStale(err)
		}
		for range transfers {
			stamp := h.next()
			err := definite(p.ctx, func() error { return pair.Transfer(p.ctx, stamp, r, 1) })
			switch {
			case err == nil:
				applied.Add(1)
			case errors.Is(err, fencerow.ErrAmbiguous):
				unknown.Add(1)
			default:
				return unlessStale(err)
			}
			_ = pause(p.ctx, time.Duration(rng.IntN(1000))*time.Microsecond)
		}
		return nil
	})
	first, second, err := pair.LoadPair(p.ctx, r)
	p.ok(err, "load")
	if first != -second {
		p.broken("after transfers of 1 the values are %d and %d: one half is missing", first, second)
	}
	if second < applied.Load() || second > applied.Load()+unknown.Load() {
		p.broken("%d transfers were applied, the outcome of %d is unknown, and %d has arrived", applied.Load(), unknown.Load(), second)
	}
}

func unlessStale(err error) error {
	if isStale(err) {
		return nil
	}
	return err
}

// wired returns the fence whose way to the store is in the hands of the case, after its first use.
func (p *fenceProbe) wired() (Fence, Wire) {
	p.need(p.h.OpenWired != nil, "FenceHarness.OpenWired")
	fence, wire, err := p.h.OpenWired(p.ctx)
	p.ok(err, "open")
	warm := &fenceProbe{probe: p.probe, h: p.h, fence: fence}
	h := warm.grant(warm.resource(), 5)
	h.claim()
	h.write(1)
	return fence, wire
}

// unanswered sends a write that gets no answer in time, and returns what the fence says of it.
func (p *fenceProbe) unanswered(fence Fence, stamp fencerow.Stamp, value int64) error {
	ctx, cancel := context.WithTimeout(p.ctx, p.h.Patience/10)
	defer cancel()
	err := fence.Write(ctx, stamp, stamp.Token().Resource(), value)
	if err == nil {
		p.broken("a write succeeded although no answer came through")
	}
	return err
}

// soon sends a stamp again while the connection recovers, until the answer is definite.
func (p *fenceProbe) soon(fence Fence, stamp fencerow.Stamp, value int64) error {
	for limit := time.Now().Add(p.h.Patience); ; {
		err := fence.Write(p.ctx, stamp, stamp.Token().Resource(), value)
		switch fencerow.VerdictOf(err) {
		case fencerow.Ambiguous, fencerow.Conflict, fencerow.Failed:
		default:
			return err
		}
		if time.Now().After(limit) {
			p.ok(err, "a write, within %v after the connection was restored", p.h.Patience)
		}
		p.wait(20 * time.Millisecond)
	}
}

func lostReplyIsNoRefusal(p *fenceProbe) {
	fence, wire := p.wired()
	p.need(p.h.Features.Steps, noSteps)
	r := p.resource()
	h := p.grant(r, 5)
	h.claim()
	stamp := h.next()
	wire.LoseReplies()
	told := p.unanswered(fence, stamp, 50)
	wire.Restore()
	again := p.soon(fence, stamp, 50)
	if again != nil && !errors.Is(again, fencerow.ErrDuplicate) {
		p.broken("a write whose reply was lost is sent again and refused: %v", again)
	}
	if errors.Is(again, fencerow.ErrDuplicate) && !errors.Is(told, fencerow.ErrAmbiguous) {
		p.broken("a write was applied, its reply was lost, and the fence said %s (%v), want ambiguous", fencerow.VerdictOf(told), told)
	}
	p.stores(r, 50, 5, "after a write that was sent twice")
}

func lostReplyBehindANewerClaim(p *fenceProbe) {
	fence, wire := p.wired()
	p.need(p.h.Features.Steps, noSteps)
	r := p.resource()
	older, newer := p.grant(r, 5), p.grant(r, 6)
	older.claim()
	stamp := older.next()
	wire.LoseReplies()
	told := p.unanswered(fence, stamp, 50)
	if isStale(told) || errors.Is(told, fencerow.ErrRejected) {
		p.broken("a write whose reply was lost is said to be refused: %v", told)
	}
	newer.claim()
	newer.write(60)
	wire.Restore()
	if again := p.soon(fence, stamp, 50); !isStale(again) {
		p.broken("a write in doubt, sent again behind a newer claim, is answered %v, want stale", again)
	}
	p.stores(r, 60, 6, "after the write in doubt was sent again")
}

// arrived waits for what was held back to be carried out: nothing tells when that is so.
func (p *fenceProbe) arrived() { p.wait(p.h.Patience / 20) }

func lateWriteChangesNothing(p *fenceProbe) {
	fence, wire := p.wired()
	r := p.resource()
	older, newer := p.grant(r, 5), p.grant(r, 6)
	older.claim()
	stamp := older.next()
	wire.HoldRequests()
	_ = p.unanswered(fence, stamp, 666)
	newer.claim()
	newer.write(60)
	wire.Restore()
	p.arrived()
	p.stores(r, 60, 6, "after the older holder's write has arrived")
}

func lateStepChangesNothing(p *fenceProbe) {
	fence, wire := p.wired()
	p.need(p.h.Features.Steps, noSteps)
	r := p.resource()
	h := p.grant(r, 5)
	h.claim()
	late := h.next()
	wire.HoldRequests()
	_ = p.unanswered(fence, late, 666)
	h.write(52) // by another way
	wire.Restore()
	p.arrived()
	p.stores(r, 52, 5, "after the earlier step has arrived")
}
