package fencerowtest

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/fencerow/fencerow"
	"github.com/fencerow/fencerow/lock/memlock"
)

func stampIsRequired(p *fenceProbe) {
	r := p.resource()
	for _, bad := range []fencerow.Stamp{{}, fencerow.Token{}.Stamp(1), Token(kitSource, r, 5).Stamp(0), Token(kitSource, r, 5).Stamp(-1)} {
		err := p.fence.Write(p.ctx, bad, r, 666)
		if !errors.Is(err, fencerow.ErrNoToken) {
			p.broken("a write with the stamp %v: %v, want ErrNoToken", bad, err)
		}
		if p.h.Features.Claims {
			if _, err := p.fence.Claim(p.ctx, bad, r); !errors.Is(err, fencerow.ErrNoToken) {
				p.broken("a claim with the stamp %v: %v, want ErrNoToken", bad, err)
			}
		}
	}
	p.stores(r, 0, 0, "after writes without a token")
}

func foreignResourceIsRefused(p *fenceProbe) {
	mine, other := p.resource(), p.resource()
	h := p.grant(other, 7)
	err := p.fence.Write(p.ctx, h.next(), mine, 666)
	p.refused(err, fencerow.SourceMismatch, "a write to one resource under the token of another")
	if p.h.Features.Claims {
		_, err := p.fence.Claim(p.ctx, h.next(), mine)
		p.refused(err, fencerow.SourceMismatch, "a claim of one resource under the token of another")
	}
	p.stores(mine, 0, 0, "after a foreign write")
	p.stores(other, 0, 0, "after a write under its token elsewhere")
}

func foreignSourceIsRefused(p *fenceProbe) {
	p.need(p.h.Features.Sources, "the source is not stored")
	r := p.resource()
	h := p.grant(r, 7)
	h.claim()
	used := h.next()
	p.ok(h.send(used, 70), "write")
	for _, number := range []int64{6, 7, 8} {
		foreign := &holder{p: p, token: Token("kit:2", r, number), step: 100}
		if p.h.Features.Claims {
			foreign.refusedClaim(fencerow.SourceMismatch, fmt.Sprintf("a claim under number %d of another source", number))
		}
		p.refused(foreign.tryWrite(666), fencerow.SourceMismatch, fmt.Sprintf("a write under number %d of another source", number))
		p.stores(r, 70, 7, "after a token of another source")
	}
	p.usedUp(h, used, "after refused claims")
	h.write(71)
}

func olderIsRefusedAfterAWrite(p *fenceProbe) {
	r := p.resource()
	a, b := p.grant(r, 33), p.grant(r, 34)
	a.claim()
	b.claim()
	b.write(340)
	p.stale(a.tryWrite(330), 33, 34, "a write after a newer holder has written")
	p.stores(r, 340, 34, "after the stale write")
}

func olderIsRefusedAfterAClaim(p *fenceProbe) {
	p.need(p.h.Features.Claims, noClaims)
	r := p.resource()
	a, b := p.grant(r, 33), p.grant(r, 34)
	a.claim()
	a.write(330)
	if seen := b.claim(); seen != 330 {
		p.broken("the claim returned %d, the value is 330", seen)
	}
	p.stale(a.tryWrite(666), 33, 34, "a write after a newer holder has claimed")
	_, err := a.tryClaim()
	p.stale(err, 33, 34, "a claim after a newer holder has claimed")
	p.stores(r, 330, 34, "after the stale write")
	b.write(340)
}

// noUpdateIsLost is the shortest counterexample of the model for a fence without a claim: both read, the older one wakes
// first, and the newer one writes what it computed from the value before.
func noUpdateIsLost(p *fenceProbe) {
	p.need(p.h.Features.Claims, noClaims)
	r := p.resource()
	a, b := p.grant(r, 1), p.grant(r, 2)
	readByA := a.claim() // then A is frozen and its lease ends
	readByB := b.claim()
	err := a.tryWrite(readByA + 1) // A wakes
	p.stale(err, 1, 2, "the write of the holder that woke")
	b.write(readByB + 1)
	p.stores(r, 1, 2, "after one accepted write")
}

func claimIsStrict(p *fenceProbe) {
	p.need(p.h.Features.Claims, "the grant is not stored: the holders of a number that is issued twice are all accepted")
	r := p.resource()
	a, twin := p.grant(r, 5), p.grant(r, 5)
	a.claim()
	twin.refusedClaim(fencerow.TokenReused, "a claim under a number that another grant has claimed")
	twin.step = 50
	p.refused(twin.tryWrite(666), fencerow.TokenReused, "a write under a number that another grant has claimed")
	p.stores(r, 0, 5, "after the claim of a reused number")
	a.write(50)
	p.refused(twin.tryWrite(666), fencerow.TokenReused, "a write under a reused number after its owner has written")
	p.stores(r, 50, 5, "after the write under a reused number")
}

func claimMayBeRepeated(p *fenceProbe) {
	p.need(p.h.Features.Claims, noClaims)
	r := p.resource()
	a := p.grant(r, 5)
	a.claim()
	used := a.next()
	p.ok(a.send(used, 50), "write")
	if seen := a.claim(); seen != 50 {
		p.broken("the repeated claim returned %d, the value is 50", seen)
	}
	p.refused(a.send(used, 51), fencerow.Duplicate, "a used stamp after a repeated claim")
	a.write(52)
	p.stores(r, 52, 5, "after a write behind a repeated claim")
}

func writeNeedsAClaim(p *fenceProbe) {
	p.need(p.h.Features.Claims, noClaims)
	r := p.resource()
	p.refused(p.grant(r, 5).tryWrite(666), fencerow.Unclaimed, "the first write of all, without a claim")
	a, b := p.grant(r, 6), p.grant(r, 7)
	a.claim()
	a.write(60)
	p.refused(b.tryWrite(666), fencerow.Unclaimed, "a newer holder's write without a claim")
	p.stores(r, 60, 6, "after writes without a claim")
	a.write(61)
}

func numbersAreExact(p *fenceProbe) {
	for _, n := range []int64{1 << 53, 1<<53 + 1, 1 << 62, math.MaxInt64 - 1} {
		r := p.resource()
		older, newer := p.grant(r, n), p.grant(r, n+1)
		older.claim()
		newer.claim()
		newer.write(1)
		p.stale(older.tryWrite(666), n, n+1, fmt.Sprintf("a write under %d against %d", n, n+1))
		p.stores(r, 1, n+1, "after neighbouring large numbers")
	}
	r := p.resource()
	ten, nine := p.grant(r, 10), p.grant(r, 9)
	ten.claim()
	ten.write(10)
	p.stale(nine.tryWrite(666), 9, 10, "number 9 against 10, which compare the other way as text")
}

func implausibleNumberIsRefused(p *fenceProbe) {
	jump := p.h.Features.MaxJump
	p.need(jump > 0, "the fence was opened without a largest jump")
	p.need(p.h.Features.Claims, noClaims)
	r := p.resource()
	const first = 1 << 40
	h := p.grant(r, first) // the first may have any number
	h.claim()
	used := h.next()
	p.ok(h.send(used, 1), "write")
	p.grant(r, first+jump+1).refusedClaim(fencerow.Implausible, "a claim of a number that is too far above the mark")
	p.grant(r, math.MaxInt64).refusedClaim(fencerow.Implausible, "a claim of the largest number")
	p.stores(r, 1, first, "after the claims of implausible numbers")
	p.usedUp(h, used, "after refused claims")
	h.write(2)
	next := p.grant(r, first+jump)
	next.claim()
	next.write(3)
	p.stores(r, 3, first+jump, "after the largest jump that is allowed")
}

func missingIsNotStale(p *fenceProbe) {
	p.need(p.h.Features.Missing, "a resource is made by its first claim")
	there := p.resource()
	// A name of the same shape that nobody prepared.
	r := fencerow.Resource(there.Class() + "/absent-" + there.ID())
	h := p.grant(r, 5)
	p.refused(h.tryWrite(666), fencerow.Missing, "a write to what does not exist")
	if p.h.Features.Claims {
		h.refusedClaim(fencerow.Missing, "a claim of what does not exist")
	}
}

func nullIsUnfenced(p *fenceProbe) {
	p.need(p.h.SetNull != nil, "the mark cannot be NULL")
	r := p.resource()
	p.ok(p.h.SetNull(p.ctx, r), "set the mark to NULL")
	h := p.grant(r, 5)
	if p.h.Features.Claims {
		h.refusedClaim(fencerow.Unfenced, "a claim of a row whose mark is NULL")
	}
	p.refused(h.tryWrite(666), fencerow.Unfenced, "a write to a row whose mark is NULL")
	if value, _, err := p.fence.Load(p.ctx, r); err == nil && value != 0 {
		p.broken("a row without a mark was written: %d", value)
	}
}

func markSurvivesRemoval(p *fenceProbe) {
	p.need(p.h.Remove != nil, "the mark goes with the value")
	r := p.resource()
	a, b := p.grant(r, 33), p.grant(r, 34)
	a.claim()
	b.claim()
	b.write(340)
	p.ok(p.h.Remove(p.ctx, r), "remove the value")
	p.stale(a.tryWrite(666), 33, 34, "a stale write after the value was removed and made anew")
	if p.h.Features.Claims {
		_, err := a.tryClaim()
		p.stale(err, 33, 34, "a stale claim after the value was removed and made anew")
	}
	p.stores(r, 0, 34, "after the value was removed and made anew")
}

// deleteKeepsTheMark is the hole of a mark that goes with the row: delete at 120, then insert at 34.
func deleteKeepsTheMark(p *fenceProbe) {
	deleter, ok := p.fence.(Deleter)
	p.need(ok, "nothing is deleted under a stamp")
	p.need(p.h.Features.Steps, noSteps)
	r := p.resource()
	older, newer := p.grant(r, 34), p.grant(r, 120)
	older.claim()
	older.write(340)
	newer.claim()
	used := newer.next()
	remove := func(s fencerow.Stamp) error {
		return definite(p.ctx, func() error { return deleter.Delete(p.ctx, s, r) })
	}
	p.ok(remove(used), "delete")
	p.refused(remove(used), fencerow.Duplicate, "the same delete again")
	p.stale(older.tryWrite(666), 34, 120, "a write of an older holder after the delete")
	p.stale(remove(older.next()), 34, 120, "a delete of an older holder after the delete")
	if p.h.Features.Claims {
		_, err := older.tryClaim()
		p.stale(err, 34, 120, "a claim of an older holder after the delete")
	}
	p.stores(r, 0, 120, "after the delete")
	newer.write(1)
	p.stores(r, 1, 120, "after it was made anew")
	p.refused(remove(used), fencerow.OutOfOrder, "the same delete, sent late")
	p.stores(r, 1, 120, "after the late delete")
}

func staleCancelsTheLease(p *fenceProbe) {
	lk, err := fencerow.New(memlock.New(), nil)
	p.ok(err, "fencerow.New")
	p.cleanup(func() { _ = lk.Close() })
	r := p.resource()
	lease, err := lk.Acquire(p.ctx, r)
	p.ok(err, "acquire")
	ctx, cancel := lease.Context(p.ctx)
	defer cancel()
	holding := &holder{p: p, token: lease.Token()} // for send, with the lease's own stamps
	if p.h.Features.Claims {
		_, err := p.fence.Claim(p.ctx, lease.Stamp(), r)
		p.ok(err, "claim")
	}
	p.ok(holding.send(lease.Stamp(), 1), "write under the lease")
	if ctx.Err() != nil {
		p.broken("an accepted write ended the lease: %v", context.Cause(ctx))
	}
	newer := &holder{p: p, token: Token(lk.Source(), r, lease.Token().Number()+1)}
	newer.claim()
	newer.write(2)
	p.refused(holding.send(lease.Stamp(), 666), fencerow.Stale, "a write under the superseded lease")
	if cause := context.Cause(ctx); !errors.Is(cause, fencerow.ErrLost) || !errors.Is(cause, fencerow.ErrStale) {
		p.broken("after the refusal the lease's context is cancelled with %v, want ErrLost and ErrStale", cause)
	}
}
