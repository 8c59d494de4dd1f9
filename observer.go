package fencerow

import (
	"context"
	"time"
)

// Observer is told what happens to leases and fenced writes, for metrics and logs. The library itself logs nothing.
//
// A nil Observer and nil fields are skipped. The functions are called by the goroutine that caused the event, some by
// the renewal runner: they must return soon and must not call back into the Locker. Give the same Observer to the
// Locker and to the fences.
type Observer struct {
	// Granted is called for each new lease, with the time that Acquire waited for it.
	Granted func(ctx context.Context, t Token, waited time.Duration)
	// Released is called when a lease was given up, with the time that it was held.
	Released func(ctx context.Context, t Token, held time.Duration)
	// Lost is called once when a lease is lost, with the time that it was held and the cause.
	Lost func(ctx context.Context, t Token, held time.Duration, cause error)
	// Regressed is called when the lock service has granted a token whose number is not above the high-water mark. The token was
	// not handed out. Page somebody.
	Regressed func(ctx context.Context, t Token, mark int64)
	// Decided is called for each answer of a resource, good or bad.
	Decided func(ctx context.Context, d Decision)
}

// Operation is what a holder asked a resource for.
type Operation string

// The operations.
const (
	Claim Operation = "claim" // raise the mark before the first read
	Write Operation = "write" // change something under a stamp
	Read  Operation = "read"  // read, with the promise that no newer holder has claimed meanwhile
)

// Decision is the answer of a resource to one operation.
type Decision struct {
	Stamp     Stamp
	Operation Operation
	Verdict   Verdict
	Err       error // nil for Applied
}

func (o *Observer) granted(ctx context.Context, t Token, waited time.Duration) {
	if o != nil && o.Granted != nil {
		o.Granted(ctx, t, waited)
	}
}

func (o *Observer) released(ctx context.Context, t Token, held time.Duration) {
	if o != nil && o.Released != nil {
		o.Released(ctx, t, held)
	}
}

func (o *Observer) lost(ctx context.Context, t Token, held time.Duration, cause error) {
	if o != nil && o.Lost != nil {
		o.Lost(ctx, t, held, cause)
	}
}

func (o *Observer) regressed(ctx context.Context, t Token, mark int64) {
	if o != nil && o.Regressed != nil {
		o.Regressed(ctx, t, mark)
	}
}

func (o *Observer) decided(ctx context.Context, d Decision) {
	if o != nil && o.Decided != nil {
		o.Decided(ctx, d)
	}
}
