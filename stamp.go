package fencerow

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
)

// Stamp is a token and a step: one operation under a grant. Send the same stamp again to retry the same operation; a
// resource applies it at most once. Take a new stamp for the next operation.
type Stamp struct {
	token Token
	step  int64
	lease *Lease // nil where the token crossed processes
}

var _ slog.LogValuer = Stamp{}

// Token returns the proof of the grant under which the operation runs.
func (s Stamp) Token() Token { return s.token }

// Step returns the position of the operation within the grant, 1 or more.
func (s Stamp) Step() int64 { return s.step }

// String returns a short form for people: resource, number and step.
func (s Stamp) String() string { return fmt.Sprintf("%s.%d", s.token, s.step) }

// LogValue returns the attributes of the token and fence_step.
func (s Stamp) LogValue() slog.Value {
	if s.token.IsZero() {
		return s.token.LogValue()
	}
	return slog.GroupValue(append(s.token.LogValue().Group(), slog.Int64("fence_step", s.step))...)
}

// Check is the first thing that a fence does with a stamp. It returns [ErrNoToken] for a stamp without a token or with
// a step below 1, and [ErrMismatch] for a stamp of another resource than the one that the caller is about to write.
func (s Stamp) Check(resource Resource) error {
	switch {
	case s.token.IsZero():
		return fmt.Errorf("%w: take a stamp from the lease of %s", ErrNoToken, resource)
	case s.step < 1:
		return fmt.Errorf("%w: the stamp %s has the step %d, steps start at 1", ErrNoToken, s.token, s.step)
	case s.token.resource != resource:
		return fmt.Errorf("%w: the stamp was granted for %s, the write is to %s", ErrMismatch, s.token.resource, resource)
	}
	return nil
}

// Settle is the last thing that a fence does with a stamp: it hands the resource's answer to those concerned and
// returns err unchanged. A stale or reused token cancels the lease that issued the stamp, with err as the cause, so that
// a superseded holder stops; and o, which may be nil, is told the verdict. Applications never call it.
func (s Stamp) Settle(ctx context.Context, o *Observer, op Operation, err error) error {
	if s.lease != nil && (errors.Is(err, ErrStale) || errors.Is(err, ErrTokenReused)) {
		s.lease.lose(ctx, err)
	}
	o.decided(ctx, Decision{Stamp: s, Operation: op, Verdict: VerdictOf(err), Err: err})
	return err
}
