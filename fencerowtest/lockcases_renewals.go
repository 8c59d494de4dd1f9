package fencerowtest

import (
	"fmt"
	"time"

	"github.com/fencerow/fencerow/driver"
)

func renewalProlongsTheGrant(p *lockProbe) {
	a, b, resource := p.open(), p.open(), p.resource()
	g := p.prolonged(a, resource, func(g driver.Grant) error { return a.Renew(p.ctx, g, longTTL) })
	p.held(b, resource, "past the first TTL of a renewed grant")
	again, err := a.Acquire(p.ctx, driver.Request{Resource: resource, GrantID: g.GrantID, Holder: holderName, TTL: longTTL})
	p.ok(err, "repeat the acquire of the renewed grant")
	if again.Number != g.Number {
		p.broken("the number was %d and is %d after a renewal", g.Number, again.Number)
	}
}

func renewalKeepsNoOther(p *lockProbe) {
	svc, other, kept, left := p.open(), p.open(), p.resource(), p.resource()
	// The one that is kept is renewed for longer than the TTL of the other; a slow machine may lose it, which is not the point.
	g := p.acquire(svc, kept, p.h.TTL)
	p.acquire(svc, left, p.h.TTL)
	for limit := time.Now().Add(2 * p.h.TTL); time.Now().Before(limit); p.wait(p.h.TTL / 5) {
		if err := svc.Renew(p.ctx, g, p.h.TTL); err != nil {
			p.notCurrent(err, "renewal")
			g = p.acquire(svc, kept, p.h.TTL)
		}
	}
	p.acquire(other, left, longTTL)
}

func renewalNeverCreates(p *lockProbe) {
	a, b, resource := p.open(), p.open(), p.resource()
	p.notCurrent(a.Renew(p.ctx, driver.Grant{Resource: resource, GrantID: "never-granted", Number: 1, TTL: longTTL}, longTTL),
		"renewal of a resource that was never granted")
	g := p.acquire(a, resource, longTTL)
	p.ok(a.Release(p.ctx, g), "release")
	p.notCurrent(a.Renew(p.ctx, g, longTTL), "renewal after the release")
	expired := p.acquire(b, resource, p.h.TTL)
	p.wait(p.h.TTL + p.h.TTL/2)
	p.notCurrent(b.Renew(p.ctx, expired, longTTL), "renewal after the end of the lease")
	p.acquire(a, resource, longTTL)
}

func renewalRacesRelease(p *lockProbe) {
	a, b, resource := p.open(), p.open(), p.resource()
	rng := p.random(0)
	for range 20 {
		g := p.acquire(a, resource, longTTL)
		renewed := make(chan error, 1)
		go func() { renewed <- a.Renew(p.ctx, g, longTTL) }()
		p.wait(time.Duration(rng.Int64N(int64(time.Millisecond)))) // one or the other is first
		p.ok(b.Release(p.ctx, g), "release beside a renewal of the same grant")
		if err := <-renewed; err != nil {
			p.notCurrent(err, "renewal beside a release of the same grant")
		}
		next := p.acquire(b, resource, longTTL)
		p.above(g, next)
		p.ok(b.Release(p.ctx, next), "release")
	}
}

// lateRenewalChangesNothing also looks at the successor's time: a renewal that is refused and prolongs all the same would keep
// others out for nothing.
func lateRenewalChangesNothing(p *lockProbe) {
	a, b, resource := p.open(), p.open(), p.resource()
	first := p.acquire(a, resource, p.h.TTL)
	p.wait(p.h.TTL + p.h.TTL/2)
	second := p.acquire(b, resource, p.h.TTL)
	p.notCurrent(a.Renew(p.ctx, first, longTTL), "a renewal after somebody else was granted")
	third := p.acquireSoon(a, resource)
	p.above(second, third)
	p.notCurrent(b.Renew(p.ctx, first, longTTL), "the same renewal later")
	p.ok(a.Release(p.ctx, third), "the newest holder's release after late renewals")
	p.acquire(b, resource, longTTL)
}

func batchRenewalAnswersEach(p *lockProbe) {
	svc := p.open()
	batch, ok := svc.(driver.BatchRenewer)
	p.need(ok, "driver.BatchRenewer")
	renew := func(grants ...driver.Grant) []error {
		errs, err := batch.RenewMany(p.ctx, grants, longTTL)
		p.ok(err, "renew many")
		if len(errs) != len(grants) {
			p.broken("%d answers for %d grants", len(errs), len(grants))
		}
		return errs
	}
	var grants []driver.Grant
	for i := range 9 {
		g := p.acquire(svc, p.resource(), longTTL)
		switch i % 3 {
		case 1:
			p.ok(svc.Release(p.ctx, g), "release")
		case 2:
			other := g // of the same resource as the one before it in the batch
			other.GrantID = "somebody-else"
			grants = append(grants, g, other)
			continue
		}
		grants = append(grants, g)
	}
	current := []bool{true, false, true, false} // the pattern of each three resources
	for i, err := range renew(grants...) {
		if current[i%len(current)] {
			p.ok(err, "renewal %d of the batch", i)
		} else {
			p.notCurrent(err, fmt.Sprintf("renewal %d of the batch", i))
		}
	}
	for i, g := range grants {
		if i%len(current) == 1 {
			p.acquire(svc, g.Resource, longTTL) // released before, and still free
		}
	}
	resource := p.resource()
	p.prolonged(svc, resource, func(g driver.Grant) error { return renew(grants[1], g)[1] })
	p.held(svc, resource, "past the first TTL of a grant that was renewed in a batch")
	if empty := renew(); len(empty) != 0 {
		p.broken("an empty batch has the answers %v", empty)
	}
}
