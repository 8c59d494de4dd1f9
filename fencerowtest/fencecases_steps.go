package fencerowtest

import (
	"context"
	"errors"
	"time"

	"github.com/fencerow/fencerow"
)

func stampIsAppliedOnce(p *fenceProbe) {
	p.need(p.h.Features.Steps, noSteps)
	r := p.resource()
	h := p.grant(r, 5)
	h.claim()
	stamp := h.next()
	p.ok(h.send(stamp, 50), "write")
	for range 3 {
		p.refused(h.send(stamp, 666), fencerow.Duplicate, "a stamp that was applied before")
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
	h.claim()
	h.write(50)
	p.refused(h.tryWrite(51), fencerow.Duplicate, "the second write of a grant")
	p.stores(r, 50, 5, "after the second write")
}

func stepsStayInOrder(p *fenceProbe) {
	p.need(p.h.Features.Steps, noSteps)
	r := p.resource()
	h := p.grant(r, 5)
	h.claim()
	early, late := h.next(), h.next()
	p.ok(h.send(late, 52), "write of the later step")
	p.refused(h.send(early, 51), fencerow.OutOfOrder, "an earlier step after a later one")
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
	used := h.next()
	p.ok(h.send(used, 90), "write")
	older, twin := p.grant(r, 8), p.grant(r, 9)
	older.step = 1000
	for range 3 {
		p.refused(older.tryWrite(666), fencerow.Stale, "a stale write")
		if p.h.Features.Claims {
			older.refusedClaim(fencerow.Stale, "a stale claim")
			twin.refusedClaim(fencerow.TokenReused, "a claim of a reused number")
		}
		p.stores(r, 90, 9, "after a refused write")
	}
	p.usedUp(h, used, "after refused writes and claims")
	if p.h.Features.Steps {
		h.write(91) // the steps of the refused grant were not recorded
		p.stores(r, 91, 9, "after the holder went on")
	}
}

// cancelledContextIsNoFalseAnswer cancels before and in the middle of writes. What the answer was worth shows when the same
// stamp is sent again.
func cancelledContextIsNoFalseAnswer(p *fenceProbe) {
	if !p.h.Features.Rewrites { // or sending it again would not tell
		rng := p.random(0)
		for number := range int64(10) {
			ctx, cancel := context.WithTimeout(p.ctx, time.Duration(rng.Int64N(int64(3*time.Millisecond))))
			p.cancelledWrite(ctx, number+1)
			cancel()
		}
	}
	ended, cancel := context.WithCancel(p.ctx)
	cancel()
	p.cancelledWrite(ended, 5)
}

// cancelledWrite writes under a context that ends, on a resource of its own.
func (p *fenceProbe) cancelledWrite(ctx context.Context, number int64) {
	r := p.resource()
	h := p.grant(r, number)
	h.claim()
	stamp := h.next()
	err := p.fence.Write(ctx, stamp, r, 50)
	said := fencerow.VerdictOf(err)
	if said == fencerow.Stale || said == fencerow.Duplicate || said == fencerow.OutOfOrder {
		p.broken("a write with an ended context, the first under its stamp and by the newest holder: %v", err)
	}
	if p.h.Features.Rewrites {
		value, _, loadErr := p.fence.Load(p.ctx, r)
		p.ok(loadErr, "load")
		if applied := value == 50; applied != (err == nil) && said != fencerow.Ambiguous {
			p.broken("a write with an ended context says %s (%v), and the value is %d", said, err, value)
		}
		return
	}
	again := h.send(stamp, 50)
	applied := errors.Is(again, fencerow.ErrDuplicate)
	if again != nil && !applied {
		p.broken("a stamp whose first context has ended, sent again: %v", again)
	}
	if applied != (err == nil) && said != fencerow.Ambiguous {
		p.broken("a write with an ended context says %s (%v), and its stamp sent again says %s", said, err, fencerow.VerdictOf(again))
	}
	p.stores(r, 50, number, "after a write whose context had ended was sent again")
}
