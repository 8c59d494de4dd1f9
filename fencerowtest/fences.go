package fencerowtest

import (
	"context"
	"testing"
	"time"

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

// Transactor is implemented by a [Fence] that admits a transaction of several writes under one stamp.
type Transactor interface {
	// Transact runs one fenced transaction: it sets the value to each of values in turn, in writes of their own, then calls last
	// and commits. If last returns an error the transaction is rolled back and the error returned. After a conflict all of it
	// may run again.
	Transact(ctx context.Context, stamp fencerow.Stamp, resource fencerow.Resource, values []int64, last func(context.Context) error) error
}

// Deleter is implemented by a [Fence] that deletes a value under a stamp.
type Deleter interface {
	// Delete deletes the value. A later write makes it anew; until then its value is 0.
	Delete(ctx context.Context, stamp fencerow.Stamp, resource fencerow.Resource) error
}

// Transferrer is implemented by a [Fence] that changes two values of a resource, in different places, under one stamp.
type Transferrer interface {
	// Transfer takes an amount from the first value and adds it to the second.
	Transfer(ctx context.Context, stamp fencerow.Stamp, resource fencerow.Resource, amount int64) error
	// LoadPair returns both values, which begin at 0.
	LoadPair(ctx context.Context, resource fencerow.Resource) (first, second int64, err error)
}

// Features declares what a fence offers. The kit holds it to that and reports the rest as not offered.
type Features struct {
	Claims   bool // an older holder is refused from the newer one's claim on, a write needs a claim, and of two grants with one number one is accepted
	Steps    bool // many writes per grant, each applied once
	Rewrites bool // without steps: a grant writes any number of times, and a repeated write is applied again
	Sources  bool // the source is stored, and another one refused
	Missing  bool // a resource without a row is told from a stale write; otherwise the first claim creates it
	// Unserialized says that the check and the write are two requests. What an older holder writes while a newer one claims may be
	// answered as applied, and nobody will read it.
	Unserialized bool
	// MaxJump is the largest jump of a claim with which the fence was opened, 0 for any.
	MaxJump int64
}

// FenceHarness is how the kit reaches a fence.
type FenceHarness struct {
	// Name is for reports.
	Name string
	// Open returns the fence. Each case calls it, and several cases run side by side.
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
	// OpenWired returns the fence as Open does, whose way to the store is in the hands of the case. Nil where there is no way in
	// between.
	OpenWired func(context.Context) (Fence, Wire, error)
	// Patience is how long a case waits for what should come at once, on a machine that is busy with other things.
	// Default: 5 s.
	Patience time.Duration
	// Except names cases that this subject cannot be held to, each with the reason, such as what an emulator lacks. They are
	// reported as not offered.
	Except map[string]string
	// Seed makes random delays repeat those of an earlier run. Default: a new one for each case; a violation names it.
	Seed uint64
}

// CheckFence holds a fence to every promise, or to those that are named. The results are in the order of [FenceCases], or of the
// names.
func CheckFence(ctx context.Context, h FenceHarness, names ...string) Report {
	return Report{Subject: h.Name, Results: runAll(ctx, choose(h.checks(), names))}
}

// TestFence is [CheckFence] as subtests. It returns when all of them have ended.
func TestFence(t *testing.T, h FenceHarness) {
	t.Helper()
	show(t, h.checks())
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

// checks binds the cases to the fence.
func (h FenceHarness) checks() []check {
	if h.Patience == 0 {
		h.Patience = 5 * time.Second
	}
	checks := make([]check, len(fenceCases))
	for i, c := range fenceCases {
		checks[i] = check{Case: c.Case, seed: h.Seed, limit: time.Minute, body: func(p *probe) {
			if h.Open == nil || h.NewResource == nil {
				p.broken("the harness needs Open and NewResource")
			}
			if why, ok := h.Except[c.Name]; ok {
				p.notOffered(why)
			}
			fence, err := h.Open(p.ctx)
			p.ok(err, "open")
			c.body(&fenceProbe{probe: p, h: h, fence: fence})
		}}
	}
	return checks
}
