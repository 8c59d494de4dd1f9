package fencerowtest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fencerow/fencerow"
)

// fenceProbe is a probe of a fence.
type fenceProbe struct {
	*probe
	h     FenceHarness
	fence Fence
}

// kitSource is the token source of all cases but one.
const kitSource = "kit:1"

// What a fence lacks, in the words of the report.
const (
	noClaims     = "there is no claim: until a newer holder has written, the older one is admitted"
	noSteps      = "steps are not stored"
	unserialized = "the check and the write are two requests: what races with a newer claim may be answered as applied and not be read"
)

func (p *fenceProbe) resource() fencerow.Resource {
	r, err := p.h.NewResource(p.ctx)
	p.ok(err, "prepare a resource")
	return r
}

// holder is a grant at work: it counts its steps as a lease does.
type holder struct {
	p     *fenceProbe
	token fencerow.Token
	step  int64
}

// grant makes a holder with a token of that number.
func (p *fenceProbe) grant(resource fencerow.Resource, number int64) *holder {
	return &holder{p: p, token: Token(kitSource, resource, number)}
}

// next returns the stamp of the next operation.
func (h *holder) next() fencerow.Stamp {
	h.step++
	return h.token.Stamp(h.step)
}

// claim claims where the fence offers it, and returns the value.
func (h *holder) claim() int64 {
	if !h.p.h.Features.Claims {
		value, _, err := h.p.fence.Load(h.p.ctx, h.token.Resource())
		h.p.ok(err, "load")
		return value
	}
	value, err := h.tryClaim()
	h.p.ok(err, "claim under %s", h.token)
	return value
}

func (h *holder) tryClaim() (value int64, err error) {
	stamp := h.next()
	err = definite(h.p.ctx, func() error {
		value, err = h.p.fence.Claim(h.p.ctx, stamp, h.token.Resource())
		return err
	})
	return value, err
}

func (h *holder) refusedClaim(want fencerow.Verdict, what string) {
	_, err := h.tryClaim()
	h.p.refused(err, want, what)
}

func (h *holder) write(value int64) {
	h.p.ok(h.tryWrite(value), "write of %d under %s", value, h.token)
}

// tryWrite takes the next stamp.
func (h *holder) tryWrite(value int64) error { return h.send(h.next(), value) }

// send may be called by other goroutines than that of the case.
func (h *holder) send(stamp fencerow.Stamp, value int64) error {
	return definite(h.p.ctx, func() error { return h.p.fence.Write(h.p.ctx, stamp, h.token.Resource(), value) })
}

// definite sends a stamp until the answer is definite, as a caller does: a conflict has written nothing, and an ambiguous answer
// is resolved by the next one. Where that cannot tell whether an earlier attempt was applied, the error stays ambiguous.
func definite(ctx context.Context, send func() error) error {
	inDoubt := false
	for {
		err := send()
		switch {
		case errors.Is(err, fencerow.ErrAmbiguous):
			inDoubt = true
		case errors.Is(err, fencerow.ErrConflict):
		case inDoubt && errors.Is(err, fencerow.ErrDuplicate):
			return nil
		case inDoubt && err != nil:
			return fmt.Errorf("%w: %w", fencerow.ErrAmbiguous, err)
		default:
			return err
		}
		if pause(ctx, time.Millisecond) != nil {
			return err
		}
	}
}

// refused asserts which answer an error is.
func (p *fenceProbe) refused(err error, want fencerow.Verdict, what string) {
	if got := fencerow.VerdictOf(err); got != want {
		p.broken("%s: the answer is %s (%v), want %s", what, got, err, want)
	}
}

// stale asserts an exact refusal.
func (p *fenceProbe) stale(err error, presented, stored int64, what string) {
	p.refused(err, fencerow.Stale, what)
	var stale *fencerow.StaleError
	if !errors.As(err, &stale) || stale.Presented != presented || stale.Stored != stored {
		p.broken("%s: %v does not say that %d was presented and %d is stored", what, err, presented, stored)
	}
}

// stores asserts what the store holds.
func (p *fenceProbe) stores(resource fencerow.Resource, value, number int64, when string) {
	v, n, err := p.fence.Load(p.ctx, resource)
	p.ok(err, "load")
	if v != value || n != number {
		p.broken("%s: the store holds the value %d under number %d, want %d under %d", when, v, n, value, number)
	}
}

// usedUp asserts that a stamp which was applied is still known to be.
func (p *fenceProbe) usedUp(h *holder, used fencerow.Stamp, when string) {
	if p.h.Features.Steps {
		p.refused(h.send(used, 666), fencerow.Duplicate, "a stamp that was applied, "+when)
	}
}
