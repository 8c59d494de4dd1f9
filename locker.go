package fencerow

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"sync"
	"time"

	"github.com/fencerow/fencerow/driver"
	"github.com/fencerow/fencerow/internal/clock"
	"github.com/fencerow/fencerow/internal/turns"
)

// Locker takes leases from one lock service and renews them. It is safe for concurrent use.
type Locker struct {
	svc   driver.LockService
	info  driver.Info
	opts  Options
	clock func() time.Duration
	newID func() string
	batch int // grants in one renewal request

	// background is the context of the Locker's own work and ends with it.
	background context.Context
	stop       context.CancelFunc

	waiting turns.Turns // by resource, where the lock service keeps no queue

	mu       sync.Mutex
	machine  machine
	running  bool // whether the runner lives
	renewers int
	closed   bool
	wake     chan struct{}
	done     sync.WaitGroup
}

// New returns a Locker on an open lock service, which it closes in [Locker.Close]. The error says which option does not
// fit the service; one that may issue a number twice is refused unless the options allow it.
func New(svc driver.LockService, opts *Options) (*Locker, error) {
	jitter := func() float64 { return mathrand.Float64() } // spreads load, decides nothing
	return newLocker(svc, opts, clock.New().Now, newGrantID, jitter)
}

func newLocker(svc driver.LockService, opts *Options, now func() time.Duration, newID func() string, jitter func() float64) (*Locker, error) {
	info := svc.Info()
	resolved, err := opts.resolve(info)
	if err != nil {
		return nil, err
	}
	lk := &Locker{
		svc:     svc,
		info:    info,
		opts:    resolved,
		clock:   now,
		newID:   newID,
		batch:   1,
		machine: machine{jitter: jitter},
		wake:    make(chan struct{}, 1),
	}
	if _, ok := svc.(driver.BatchRenewer); ok {
		lk.batch = renewBatch
	}
	lk.background, lk.stop = context.WithCancel(context.Background())
	return lk, nil
}

// newGrantID returns 128 random bits, so that no two grants ever share an identity.
func newGrantID() string {
	var id [16]byte
	_, _ = rand.Read(id[:]) // never fails: it crashes the program if the system has no randomness
	return hex.EncodeToString(id[:])
}

// Source returns the identity of the token sequence, which every token of this Locker carries.
func (lk *Locker) Source() string { return lk.info.Source }

// TryAcquire returns a lease now, or [ErrHeld]. After any other error the lock service was asked to undo the attempt; if it
// cannot be reached, what it may have granted ends with its TTL.
func (lk *Locker) TryAcquire(ctx context.Context, resource Resource) (*Lease, error) {
	return lk.acquire(ctx, resource, lk.askOnce)
}

// Acquire waits until the resource is granted or ctx ends, in the order of arrival where the lock service keeps a queue.
// When ctx ends while somebody else holds the resource the error is both ctx.Err() and [ErrHeld]. What is said of errors at
// [Locker.TryAcquire] holds here too.
func (lk *Locker) Acquire(ctx context.Context, resource Resource) (*Lease, error) {
	return lk.acquire(ctx, resource, lk.askUntilGranted)
}

// Do acquires the resource, calls fn and releases the lease. The context of fn is cancelled when the lease is lost, with
// the cause; fn passes stamps of the lease to every write, which is what keeps the data safe.
//
// The error is that of fn, joined with that of the release. If fn succeeded and the lease was lost on the way, the error is
// [ErrLost]: the writes that the fence accepted stand, but another holder may have been granted the resource meanwhile, so
// anything that fn did outside the fence is in doubt.
func (lk *Locker) Do(ctx context.Context, resource Resource, fn func(context.Context, *Lease) error) error {
	lease, err := lk.Acquire(ctx, resource)
	if err != nil {
		return err
	}
	released := false
	release := func() error {
		released = true
		err := lease.Release(ctx)
		if errors.Is(err, ErrReleased) { // fn has done it
			return nil
		}
		return err
	}
	defer func() {
		if !released { // fn panicked
			_ = release()
		}
	}()
	work, cancel := lease.Context(ctx)
	defer cancel()
	return errors.Join(fn(work, lease), release())
}

// Close ends every lease of the Locker with [ErrLost], waits for its goroutines and closes the lock service. It does not
// release: code may still be running under the leases, and others should not be let in before their TTL ends. Release first.
func (lk *Locker) Close() error {
	lk.mu.Lock()
	if lk.closed {
		lk.mu.Unlock()
		return nil
	}
	lk.closed = true
	var leases []*Lease
	for _, e := range lk.machine.queue {
		leases = append(leases, e.lease)
	}
	lk.mu.Unlock()
	for _, l := range leases {
		l.lose(context.Background(), ErrClosed)
	}
	lk.stop()
	lk.poke()
	lk.done.Wait()
	return lk.svc.Close()
}

// asking asks the lock service for a grant and returns it with the time before the request that granted it.
type asking func(context.Context, driver.Request) (driver.Grant, time.Duration, error)

func (lk *Locker) acquire(ctx context.Context, resource Resource, ask asking) (*Lease, error) {
	if err := resource.Validate(); err != nil {
		return nil, err
	}
	if lk.isClosed() {
		return nil, ErrClosed
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(lk.background, func() { cancel(ErrClosed) })()
	if ctx.Err() != nil {
		return nil, fmt.Errorf("fencerow: acquire %s: %w", resource, endOf(ctx))
	}
	start := lk.clock()
	req := driver.Request{Resource: string(resource), GrantID: lk.newID(), Holder: lk.opts.Holder, TTL: lk.opts.TTL}
	grant, sent, err := ask(ctx, req)
	if err != nil {
		var held *driver.HeldError
		var retired *driver.RetiredError
		if errors.As(err, &retired) {
			return nil, fmt.Errorf("%w: %s: %w", ErrRetired, resource, err)
		}
		if !errors.As(err, &held) {
			// The service may have granted it all the same, and the reply was lost.
			lk.abandon(ctx, driver.Grant{Resource: req.Resource, GrantID: req.GrantID})
			if cause := context.Cause(ctx); cause != nil && !errors.Is(err, cause) { // it says only that ctx has ended
				err = fmt.Errorf("%w: %w", cause, err)
			}
			return nil, fmt.Errorf("fencerow: acquire %s from %s: %w", resource, lk.info.Source, err)
		}
		return nil, fmt.Errorf("%w: %s: %w", ErrHeld, resource, err)
	}
	token, err := lk.tokenOf(resource, grant, req)
	if err == nil {
		err = lk.checkMark(ctx, token, grant)
	}
	var lease *Lease
	if err == nil {
		lease, err = lk.begin(token, grant, sent)
	}
	if err != nil {
		lk.abandon(ctx, grant)
		return nil, err
	}
	lk.opts.Observer.granted(ctx, lease.token, lk.clock()-start)
	return lease, nil
}

// endOf returns why ctx ended: its error, and the cause where there is one.
func endOf(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if errors.Is(err, cause) {
		return err
	}
	return fmt.Errorf("%w: %w", err, cause)
}

// tokenOf checks the grant and makes it a token.
func (lk *Locker) tokenOf(resource Resource, grant driver.Grant, req driver.Request) (Token, error) {
	token, err := newToken(lk.info.Source, resource, grant.Number, grant.GrantID)
	if err != nil {
		return Token{}, fmt.Errorf("fencerow: the lock service %s broke its contract: %w", lk.info.Source, err)
	}
	if grant.GrantID != req.GrantID || grant.Resource != req.Resource || grant.TTL <= 0 {
		return Token{}, fmt.Errorf("fencerow: the lock service %s broke its contract: it was asked for %+v and granted %+v",
			lk.info.Source, req, grant)
	}
	return token, nil
}

// begin hands the grant to the runner.
func (lk *Locker) begin(token Token, grant driver.Grant, sent time.Duration) (*Lease, error) {
	l := &Lease{locker: lk, token: token, since: lk.clock(), done: make(chan struct{})}
	l.entry = entry{lease: l, grant: grant, position: -1}

	lk.mu.Lock()
	defer lk.mu.Unlock()
	if lk.closed {
		return nil, ErrClosed
	}
	if now := lk.clock(); deadlineFor(sent, grant.TTL) <= now {
		return nil, fmt.Errorf("%w: the grant of %s took %v to arrive, which is its TTL of %v: use a longer TTL",
			ErrLost, token, now-sent, grant.TTL)
	}
	if lk.opts.NoRenewal {
		lk.machine.addUnrenewed(&l.entry, sent)
	} else {
		lk.machine.add(&l.entry, sent)
	}
	lk.startRunner()
	return l, nil
}

// abandonTimeout bounds the clean-up of an attempt whose outcome is unknown.
const abandonTimeout = 2 * time.Second

// abandon gives back what an attempt may have been granted. It works when ctx has ended, because that is when it is needed.
func (lk *Locker) abandon(ctx context.Context, grant driver.Grant) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), abandonTimeout)
	defer cancel()
	_ = lk.svc.Release(ctx, grant) // if this fails too the grant ends with its TTL
}

func (lk *Locker) isClosed() bool {
	lk.mu.Lock()
	defer lk.mu.Unlock()
	return lk.closed
}

func isNotCurrent(err error) bool { return errors.Is(err, driver.ErrNotCurrent) }
