package fencerowtest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/fencerow/fencerow/driver"
)

func releaseFreesAtOnce(p *lockProbe) {
	a, b, resource := p.open(), p.open(), p.resource()
	g := p.acquire(a, resource, longTTL)
	p.held(b, resource, "before the release")
	p.ok(a.Release(p.ctx, g), "release")
	p.acquire(b, resource, longTTL)
}

func releaseNeedsTheGrant(p *lockProbe) {
	svc, resource := p.open(), p.resource()
	g := p.acquire(svc, resource, longTTL)
	for _, other := range []driver.Grant{
		{Resource: resource, GrantID: "somebody-else", Number: g.Number, TTL: longTTL},
		{Resource: resource, GrantID: "", Number: g.Number, TTL: longTTL},
		{Resource: p.resource(), GrantID: g.GrantID, Number: g.Number, TTL: longTTL},
	} {
		p.notCurrent(svc.Release(p.ctx, other), fmt.Sprintf("release of %+v while %+v is current", other, g))
	}
	p.held(svc, resource, "after releases of other grants")
	p.ok(svc.Renew(p.ctx, g, longTTL), "the holder's renewal after releases of other grants")
}

func lateReleaseChangesNothing(p *lockProbe) {
	a, b, resource := p.open(), p.open(), p.resource()
	first := p.acquire(a, resource, p.h.TTL)
	second := p.acquireSoon(b, resource, p.h.TTL+patience)
	p.notCurrent(a.Release(p.ctx, first), "a release after somebody else was granted")
	p.held(a, resource, "after the late release")
	p.ok(b.Renew(p.ctx, second, longTTL), "the new holder's renewal after the late release")
}

func releaseByGrantIDAlone(p *lockProbe) {
	svc, resource := p.open(), p.resource()
	g := p.acquire(svc, resource, longTTL)
	// As after an acquire whose reply was lost: the number is not known.
	p.ok(svc.Release(p.ctx, driver.Grant{Resource: resource, GrantID: g.GrantID}), "release by grant id")
	p.above(g, p.acquire(svc, resource, longTTL))
}

func cancelledAcquireLeavesNothing(p *lockProbe) {
	svc, resource := p.open(), p.resource()
	ctx, cancel := context.WithCancel(p.ctx)
	cancel()
	req := request(resource, longTTL)
	if g, err := svc.Acquire(ctx, req); err == nil {
		p.broken("a cancelled acquire was granted %+v", g)
	}
	// The Locker gives back an attempt whose outcome it does not know.
	_ = svc.Release(p.ctx, driver.Grant{Resource: resource, GrantID: req.GrantID})
	p.acquire(svc, resource, longTTL)
}

func renewalProlongsTheGrant(p *lockProbe) {
	a, b, resource := p.open(), p.open(), p.resource()
	// Renewed to a TTL that outlasts the case, so that a slow machine cannot end the lease in between.
	g := p.acquire(a, resource, p.h.TTL)
	err := a.Renew(p.ctx, g, longTTL)
	if errors.Is(err, driver.ErrNotCurrent) {
		g = p.acquire(a, resource, 10*p.h.TTL) // the machine was slower than the TTL: try with a longer one
		err = a.Renew(p.ctx, g, longTTL)
	}
	p.ok(err, "renew")
	p.wait(p.h.TTL + p.h.TTL/2)
	p.held(b, resource, "past the first TTL of a renewed grant")
	again, err := a.Acquire(p.ctx, driver.Request{Resource: resource, GrantID: g.GrantID, Holder: "kit", TTL: longTTL})
	p.ok(err, "repeat the acquire of the renewed grant")
	if again.Number != g.Number {
		p.broken("the number was %d and is %d after a renewal", g.Number, again.Number)
	}
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

// lateRenewalChangesNothing also looks at the successor's time: a renewal that is refused and prolongs all the same would keep
// others out for nothing.
func lateRenewalChangesNothing(p *lockProbe) {
	a, b, resource := p.open(), p.open(), p.resource()
	first := p.acquire(a, resource, p.h.TTL)
	p.wait(p.h.TTL + p.h.TTL/2)
	second := p.acquire(b, resource, p.h.TTL)
	p.notCurrent(a.Renew(p.ctx, first, longTTL), "a renewal after somebody else was granted")
	third := p.acquireSoon(a, resource, p.h.TTL+patience)
	p.above(second, third)
	p.notCurrent(b.Renew(p.ctx, first, longTTL), "the same renewal later")
	p.ok(a.Release(p.ctx, third), "the newest holder's release after late renewals")
	p.acquire(b, resource, longTTL)
}

func heldNamesTheHolder(p *lockProbe) {
	a, b, resource := p.open(), p.open(), p.resource()
	g := p.acquire(a, resource, longTTL)
	held := p.held(b, resource, "while held")
	if held.Holder != "kit" || (held.Number != 0 && held.Number != g.Number) || held.Remaining < 0 || held.Remaining > longTTL {
		p.broken("the grant is %+v of holder kit, the refusal says %+v", g, held)
	}
}

func leaseLastsItsTTL(p *lockProbe) {
	a, b, resource := p.open(), p.open(), p.resource()
	before := time.Now()
	first := p.acquire(a, resource, p.h.TTL)
	p.acquireSoon(b, resource, p.h.TTL+patience)
	// Counted from before the request, so that a slow reply cannot make it look too short; the service's unit is allowed for.
	if lasted := time.Since(before); lasted < first.TTL-a.Info().TTLUnit {
		p.broken("a lease of %v was followed by another after %v", first.TTL, lasted)
	}
}

func ttlIsChecked(p *lockProbe) {
	svc, resource := p.open(), p.resource()
	unit := svc.Info().TTLUnit
	ttls := []time.Duration{0, -time.Second, -1}
	if unit > 1 {
		ttls = append(ttls, 1, unit/2)
	}
	g := p.acquire(svc, p.resource(), longTTL)
	for _, ttl := range ttls {
		if got, err := svc.Acquire(p.ctx, request(resource, ttl)); err == nil {
			p.broken("an acquire with the TTL %v was granted %+v", ttl, got)
		}
		if err := svc.Renew(p.ctx, g, ttl); err == nil {
			p.broken("a renewal with the TTL %v was accepted", ttl)
		}
	}
	p.acquire(svc, resource, longTTL)
	// One that no clock can count to is refused as well, or it is kept.
	endless := p.resource()
	if _, err := svc.Acquire(p.ctx, request(endless, math.MaxInt64)); err == nil {
		p.held(svc, endless, "under the longest TTL that there is")
	}
}

func resourcesAreIndependent(p *lockProbe) {
	svc, base := p.open(), p.resource()
	names := []string{
		base, base + "/b", base + "/b/c", strings.ToUpper(base), base + "B", base + "b", base + "%", base + "_", base + "%2Fb",
		base + `'; DROP TABLE fencerow_lock; --`, base + `"quoted"`, base + "{tag}", base + "[*]?", base + `\`, base + " ",
		base + "ü", base + "u\u0308", base + "日本", base + "/../x", base + "/.", base + "//",
		base + strings.Repeat("x", 255-len(base)), base + strings.Repeat("x", 254-len(base)),
	}
	grants := map[string]driver.Grant{}
	for _, name := range names {
		grants[name] = p.acquire(svc, name, longTTL)
	}
	for _, name := range names {
		p.held(svc, name, fmt.Sprintf("%q", name))
		p.ok(svc.Release(p.ctx, grants[name]), "release %q", name)
		p.above(grants[name], p.acquire(svc, name, longTTL))
	}
}

func batchRenewalAnswersEach(p *lockProbe) {
	svc := p.open()
	batch, ok := svc.(driver.BatchRenewer)
	if !ok {
		p.notOffered("driver.BatchRenewer")
	}
	var grants []driver.Grant
	for i := range 9 {
		g := p.acquire(svc, p.resource(), longTTL)
		if i%3 == 1 {
			p.ok(svc.Release(p.ctx, g), "release")
		}
		if i%3 == 2 {
			g.GrantID = "somebody-else"
		}
		grants = append(grants, g)
	}
	errs, err := batch.RenewMany(p.ctx, grants, longTTL)
	p.ok(err, "renew many")
	if len(errs) != len(grants) {
		p.broken("%d answers for %d grants", len(errs), len(grants))
	}
	for i, err := range errs {
		if i%3 == 0 {
			p.ok(err, "renewal %d of the batch", i)
		} else {
			p.notCurrent(err, fmt.Sprintf("renewal %d of the batch", i))
		}
	}
	empty, err := batch.RenewMany(p.ctx, nil, longTTL)
	if err != nil || len(empty) != 0 {
		p.broken("an empty batch: %v, %v", empty, err)
	}
}
