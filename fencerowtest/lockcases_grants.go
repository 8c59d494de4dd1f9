package fencerowtest

import (
	"context"
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

	expired := p.acquire(svc, p.resource(), p.h.TTL)
	p.wait(p.h.TTL + p.h.TTL/2)
	p.notCurrent(svc.Release(p.ctx, expired), "release after the end of the lease")
}

func lateReleaseChangesNothing(p *lockProbe) {
	a, b, resource := p.open(), p.open(), p.resource()
	first := p.acquire(a, resource, p.h.TTL)
	second := p.acquireSoon(b, resource)
	p.notCurrent(a.Release(p.ctx, first), "a release after somebody else was granted")
	p.held(a, resource, "after the late release")
	p.ok(b.Renew(p.ctx, second, longTTL), "the new holder's renewal after the late release")
	p.ok(b.Release(p.ctx, second), "the new holder's release after the late release")
	p.notCurrent(a.Release(p.ctx, first), "a release after somebody else was granted and has released")
}

func releaseByGrantIDAlone(p *lockProbe) {
	svc, resource := p.open(), p.resource()
	g := p.acquire(svc, resource, longTTL)
	// As after an acquire whose reply was lost: the number is not known.
	p.ok(svc.Release(p.ctx, driver.Grant{Resource: resource, GrantID: g.GrantID}), "release by grant id")
	p.above(g, p.acquire(svc, resource, longTTL))
}

func closingEndsNoLease(p *lockProbe) {
	resource, other := p.resource(), p.open()
	svc, err := p.h.Open(p.ctx)
	p.ok(err, "open")
	p.acquire(svc, resource, longTTL)
	p.ok(svc.Close(), "close")
	p.held(other, resource, "after the handle of the holder was closed")
}

// cancelledAcquireLeavesNothing cancels before and in the middle. In the middle the request may have been on its way and may
// arrive after the clean-up; such a grant ends with its TTL, and nothing may keep it longer.
func cancelledAcquireLeavesNothing(p *lockProbe) {
	svc, resource := p.open(), p.resource()
	ended, cancel := context.WithCancel(p.ctx)
	cancel()
	req := request(resource, longTTL)
	if g, err := svc.Acquire(ended, req); err == nil {
		p.broken("a cancelled acquire was granted %+v", g)
	}
	p.giveBack(svc, req)
	last := p.acquire(svc, resource, longTTL)
	p.ok(svc.Release(p.ctx, last), "release")

	rng := p.random(0)
	for range 10 {
		ctx, cancel := context.WithTimeout(p.ctx, time.Duration(rng.Int64N(int64(3*time.Millisecond))))
		req := request(resource, p.h.TTL)
		_, _ = svc.Acquire(ctx, req) // granted or not
		cancel()
		p.giveBack(svc, req)
		next := p.acquireSoon(svc, resource)
		p.above(last, next)
		p.ok(svc.Release(p.ctx, next), "release")
		last = next
	}
}

// giveBack is what the Locker does after an attempt whose outcome it does not know.
func (p *lockProbe) giveBack(svc driver.LockService, req driver.Request) {
	err := svc.Release(p.ctx, driver.Grant{Resource: req.Resource, GrantID: req.GrantID})
	if err != nil {
		p.notCurrent(err, "release of an acquire that was cancelled")
	}
}

func heldNamesTheHolder(p *lockProbe) {
	a, b, resource := p.open(), p.open(), p.resource()
	g := p.acquire(a, resource, longTTL)
	held := p.held(b, resource, "while held")
	if held.Holder != holderName || (held.Number != 0 && held.Number != g.Number) || held.Remaining < 0 || held.Remaining > longTTL {
		p.broken("the grant is %+v of holder %s, the refusal says %+v", g, holderName, held)
	}
}

func leaseLastsItsTTL(p *lockProbe) {
	a, b, resource := p.open(), p.open(), p.resource()
	before := time.Now()
	first := p.acquire(a, resource, p.h.TTL)
	p.acquireSoon(b, resource)
	// Counted from before the request, so that a slow reply cannot make it look too short; the service's unit is allowed for.
	if lasted := time.Since(before); lasted < first.TTL-a.Info().TTLUnit {
		p.broken("a lease of %v was followed by another after %v", first.TTL, lasted)
	}
}

func ttlIsChecked(p *lockProbe) {
	svc, resource, info := p.open(), p.resource(), p.open().Info()
	ttls := []time.Duration{0, -time.Second, -1}
	if info.TTLUnit > 1 {
		ttls = append(ttls, 1, info.TTLUnit/2, longTTL+info.TTLUnit/2)
	}
	if info.MinTTL > 0 {
		ttls = append(ttls, info.MinTTL-info.TTLUnit)
	}
	if info.MaxTTL > 0 {
		ttls = append(ttls, info.MaxTTL+info.TTLUnit)
	}
	g := p.acquire(svc, p.resource(), longTTL)
	for _, ttl := range ttls {
		if got, err := svc.Acquire(p.ctx, request(resource, ttl)); err == nil {
			p.broken("an acquire with the TTL %v was granted %+v by a service with %+v", ttl, got, info)
		}
		if err := svc.Renew(p.ctx, g, ttl); err == nil {
			p.broken("a renewal with the TTL %v was accepted by a service with %+v", ttl, info)
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
