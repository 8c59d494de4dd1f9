package fencerowtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/fencerow/fencerow"
)

// Fence is how the kit drives a fence: one number per resource, written under stamps.
type Fence interface {
	// Claim raises the mark of the resource and returns its value, in one step or transaction. It is not called where the
	// harness declares no claims.
	Claim(ctx context.Context, stamp fencerow.Stamp, resource fencerow.Resource) (value int64, err error)
	// Write sets the value under a stamp, and does nothing else.
	Write(ctx context.Context, stamp fencerow.Stamp, resource fencerow.Resource, value int64) error
	// Load returns what is stored: the value and the mark's number.
	Load(ctx context.Context, resource fencerow.Resource) (value, number int64, err error)
}

// Features declares what a fence offers. The kit holds it to that and reports the rest as not offered.
type Features struct {
	Claims   bool // an older holder is refused from the newer one's claim on, and a write needs a claim
	Steps    bool // many writes per grant, each applied once
	Rewrites bool // without steps: a grant writes any number of times, and a repeated write is applied again
	Sources  bool // the source is stored, and another one refused
	Missing  bool // a resource without a row is told from a stale write; otherwise the first claim creates it
}

// FenceHarness is how the kit reaches a fence.
type FenceHarness struct {
	// Name is for reports.
	Name string
	// Open returns the fence. All cases use one.
	Open func(context.Context) (Fence, error)
	// NewResource prepares a resource that no other case uses, with the value 0 and no mark, and returns its name.
	NewResource func(context.Context) (fencerow.Resource, error)
	// Features says what the fence offers.
	Features Features
	// SetNull makes the stored mark NULL. Nil where that cannot be.
	SetNull func(context.Context, fencerow.Resource) error
	// Remove deletes the protected value in the way that the fence survives, and makes it anew with the value 0. Nil where the
	// mark goes with the value.
	Remove func(context.Context, fencerow.Resource) error
}

// CheckFence holds a fence to every promise, or to those that are named.
func CheckFence(ctx context.Context, h FenceHarness, names ...string) Report {
	report := Report{Subject: h.Name}
	for _, c := range fenceCases {
		if len(names) == 0 || slices.Contains(names, c.Name) {
			report.Results = append(report.Results, c.check(ctx, h))
		}
	}
	return report
}

// TestFence is [CheckFence] as subtests.
func TestFence(t *testing.T, h FenceHarness) {
	t.Helper()
	show(t, FenceCases(), func(i int) Result { return fenceCases[i].check(t.Context(), h) })
}

// FenceCases lists the promises of a fence.
func FenceCases() []Case {
	names := make([]Case, len(fenceCases))
	for i, c := range fenceCases {
		names[i] = c.Case
	}
	return names
}

type fenceCase struct {
	Case
	body func(*fenceProbe)
}

func (c fenceCase) check(ctx context.Context, h FenceHarness) Result {
	return run(ctx, c.Case, func(p *probe) {
		fence, err := h.Open(p.ctx)
		p.ok(err, "open")
		c.body(&fenceProbe{probe: p, h: h, fence: fence})
	})
}

// fenceProbe is a probe of a fence.
type fenceProbe struct {
	*probe
	h     FenceHarness
	fence Fence
}

// kitSource is the token source of all cases but one.
const kitSource = "kit:1"

func (p *fenceProbe) resource() fencerow.Resource {
	r, err := p.h.NewResource(p.ctx)
	p.ok(err, "prepare a resource")
	return r
}

func (p *fenceProbe) need(offered bool, what string) {
	if !offered {
		p.notOffered(what)
	}
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
	value, err := h.p.fence.Claim(h.p.ctx, h.next(), h.token.Resource())
	h.p.ok(err, "claim under %s", h.token)
	return value
}

func (h *holder) tryClaim() error {
	_, err := h.p.fence.Claim(h.p.ctx, h.next(), h.token.Resource())
	return err
}

func (h *holder) tryWrite(value int64) error {
	return h.p.fence.Write(h.p.ctx, h.next(), h.token.Resource(), value)
}

func (h *holder) write(value int64) {
	h.p.ok(h.tryWrite(value), "write of %d under %s", value, h.token)
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

func describe(format string, args ...any) string { return fmt.Sprintf(format, args...) }
