package fencerowtest

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/fencerow/fencerow"
)

func (p *fenceProbe) transactor() Transactor {
	t, ok := p.fence.(Transactor)
	p.need(ok, "fencerowtest.Transactor: each write stands alone")
	return t
}

func transactionIsAllOrNothing(p *fenceProbe) {
	fence, r := p.transactor(), p.resource()
	transact := func(stamp fencerow.Stamp, end error, values ...int64) error {
		return definite(p.ctx, func() error {
			return fence.Transact(p.ctx, stamp, r, values, func(context.Context) error { return end })
		})
	}
	h := p.grant(r, 5)
	h.claim()
	_, mark, err := p.fence.Load(p.ctx, r) // 5 where there is a claim
	p.ok(err, "load")
	stamp := h.next()
	undo := errors.New("the caller changed its mind")
	if err := transact(stamp, undo, 665, 666); !errors.Is(err, undo) {
		p.broken("a transaction whose function fails says %v, want the function's error", err)
	}
	p.stores(r, 0, mark, "after a transaction that failed at its end")
	p.ok(transact(stamp, nil, 51, 52), "the transaction again, under the same stamp")
	p.stores(r, 52, 5, "after the transaction")
	if !p.h.Features.Rewrites {
		p.refused(transact(stamp, nil, 665, 666), fencerow.Duplicate, "a transaction under a used stamp")
		p.stores(r, 52, 5, "after a transaction under a used stamp")
	}
	newer := p.grant(r, 6)
	newer.claim()
	newer.write(60)
	p.stale(transact(h.next(), nil, 665, 666), 5, 6, "a transaction after a newer holder has written")
	p.stores(r, 60, 6, "after a stale transaction")
}

// claimWaitsForTransactions lets a newer holder claim while a transaction of the older one has passed its check and has not
// committed: there a fence that only looks at the mark admits both.
func claimWaitsForTransactions(p *fenceProbe) {
	p.need(p.h.Features.Claims, noClaims)
	fence, r := p.transactor(), p.resource()
	a, b := p.grant(r, 1), p.grant(r, 2)
	a.claim()
	type answer struct {
		value int64
		err   error
	}
	claimed := make(chan answer, 1)
	var once sync.Once
	stamp := a.next()
	err := definite(p.ctx, func() error {
		return fence.Transact(p.ctx, stamp, r, []int64{10, 11}, func(ctx context.Context) error {
			once.Do(func() {
				go func() {
					value, err := b.tryClaim()
					claimed <- answer{value, err}
				}()
			})
			// Until the claim is through, or long enough to say that it waits.
			select {
			case seen := <-claimed:
				claimed <- seen
			case <-time.After(50 * time.Millisecond):
			case <-ctx.Done():
			}
			return nil
		})
	})
	seen := <-claimed
	p.ok(seen.err, "the newer holder's claim")
	want := int64(11)
	if err != nil {
		p.refused(err, fencerow.Stale, "the transaction that met a newer claim")
		want = 0
	}
	if seen.value != want {
		p.broken("the older holder's transaction was answered %s, and the newer holder's claim read %d", fencerow.VerdictOf(err), seen.value)
	}
	p.stores(r, want, 2, "after the claim and the transaction")
}
