package fencerow

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"
)

// Lease is one grant in this process, from Acquire until it is released or lost. The Locker renews it in the background.
//
// A Lease has no method that says whether it is still valid: by the time the answer is read it may be wrong, and only the
// resource can tell. [Lease.Done] and [Lease.Context] are for stopping work early, to save effort. They are no permission
// to write; the stamp on each write is.
type Lease struct {
	locker *Locker
	token  Token
	since  time.Duration // by the Locker's clock
	steps  atomic.Int64
	done   chan struct{}
	entry  entry

	// Guarded by the Locker's mutex.
	err     error
	cancels map[*context.CancelCauseFunc]struct{}
}

// Token returns the proof of the grant. It stays the same through renewals.
func (l *Lease) Token() Token { return l.token }

// Stamp returns the stamp of the next operation under this grant. Take one per operation and keep it for the retries of
// that operation. Safe for concurrent use; operations on one resource that run side by side should not share its chain of
// steps, see the fence's documentation.
func (l *Lease) Stamp() Stamp { return Stamp{token: l.token, step: l.steps.Add(1), lease: l} }

// Done is closed when the lease was released, or as soon as this process knows that it is lost: before the TTL ends if the
// process runs, too late if it was frozen.
func (l *Lease) Done() <-chan struct{} { return l.done }

// Err returns nil while Done is open, then an error that is [ErrReleased] or [ErrLost] and names the cause. A nil is no
// permission to write.
func (l *Lease) Err() error {
	lk := l.locker
	lk.mu.Lock()
	err, overdue := l.err, lk.clock() >= l.entry.deadline
	lk.mu.Unlock()
	if err == nil && overdue {
		// The runner has not come round yet, for example right after the machine was suspended.
		l.lose(context.Background(), l.overdue())
		lk.mu.Lock()
		err = l.err
		lk.mu.Unlock()
	}
	return err
}

// Context returns a copy of parent that is cancelled when the lease ends, with the same cause as [Lease.Err]; read it with
// context.Cause. Call the returned function when the work is done.
func (l *Lease) Context(parent context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(parent)
	lk := l.locker
	lk.mu.Lock()
	defer lk.mu.Unlock()
	if l.err != nil {
		cancel(l.err)
		return ctx, func() {}
	}
	if l.cancels == nil {
		l.cancels = make(map[*context.CancelCauseFunc]struct{})
	}
	l.cancels[&cancel] = struct{}{}
	return ctx, func() {
		lk.mu.Lock()
		delete(l.cancels, &cancel)
		lk.mu.Unlock()
		cancel(context.Canceled)
	}
}

// releaseTimeout bounds the request that gives a lease up.
const releaseTimeout = 5 * time.Second

// Release stops the renewal, waits for one that is under way, and gives the lease up, if it is still this grant's.
//
// It returns nil only if the service confirmed that. If the lease was lost before, the error is [ErrLost]: somebody else
// may have been granted the resource while you worked, and the fence has decided whose writes count. A second Release is
// [ErrReleased]. Cancelling ctx does not stop a release, because an unreleased lease blocks everyone until its TTL ends; it
// takes 5 seconds at most.
func (l *Lease) Release(ctx context.Context) error {
	lk := l.locker
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()

	before := l.end(ErrReleased)
	if before != nil && before == ErrReleased {
		return fmt.Errorf("%w before: %s", ErrReleased, l.token)
	}
	if err := l.joinRenewal(ctx); err != nil {
		return fmt.Errorf("fencerow: release of %s: a renewal is still under way, the lease ends by itself within %v: %w",
			l.token, l.entry.grant.TTL, err)
	}
	if before != nil {
		// The service may still count the lease as ours until its TTL ends; do not make others wait for that.
		_ = lk.svc.Release(ctx, l.entry.grant)
		return before
	}
	err := lk.svc.Release(ctx, l.entry.grant)
	held := lk.clock() - l.since
	switch {
	case err == nil:
		lk.opts.Observer.released(ctx, l.token, held)
		return nil
	case isNotCurrent(err):
		err = fmt.Errorf("%w: the lock service says at the release of %s that it ended before: %w", ErrLost, l.token, err)
		lk.opts.Observer.lost(ctx, l.token, held, err)
		return err
	}
	return fmt.Errorf("fencerow: release of %s is not confirmed, the lease ends by itself within %v: %w",
		l.token, l.entry.grant.TTL, err)
}

// joinRenewal waits for a renewal that is under way.
func (l *Lease) joinRenewal(ctx context.Context) error {
	l.locker.mu.Lock()
	inFlight, done := l.entry.inFlight, l.entry.renewDone
	l.locker.mu.Unlock()
	if !inFlight {
		return nil
	}
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// lose ends the lease because of cause, once, and reports it.
func (l *Lease) lose(ctx context.Context, cause error) {
	err := fmt.Errorf("%w: %s: %w", ErrLost, l.token, cause)
	if l.end(err) == nil {
		l.locker.opts.Observer.lost(ctx, l.token, l.locker.clock()-l.since, err)
	}
}

// end makes err the lease's end, unless it has one already, and returns the one that it had.
func (l *Lease) end(err error) (before error) {
	lk := l.locker
	lk.mu.Lock()
	before = l.err
	if before != nil {
		lk.mu.Unlock()
		return before
	}
	l.err = err
	lk.machine.remove(&l.entry)
	cancels := l.cancels
	l.cancels = nil
	close(l.done)
	lk.mu.Unlock()

	for cancel := range cancels {
		(*cancel)(err)
	}
	lk.poke()
	return nil
}

// overdue is the cause of a loss by the local deadline.
func (l *Lease) overdue() error {
	l.locker.mu.Lock()
	defer l.locker.mu.Unlock()
	if last := l.entry.lastErr; last != nil {
		return fmt.Errorf("no renewal within the TTL of %v, the last attempt failed: %w", l.entry.grant.TTL, last)
	}
	return fmt.Errorf("no renewal within the TTL of %v: the process was paused, or renewal is off", l.entry.grant.TTL)
}
