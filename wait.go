package fencerow

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fencerow/fencerow/driver"
)

// The pause between two attempts where the lock service cannot signal: short at first for locks that are held briefly,
// then longer. Where it can signal, the pause is only the floor under a lost signal.
const (
	firstPause   = 5 * time.Millisecond
	longestPause = 250 * time.Millisecond
	signalFloor  = time.Second
)

func (lk *Locker) askOnce(ctx context.Context, req driver.Request) (driver.Grant, time.Duration, error) {
	sent := lk.clock()
	grant, err := lk.svc.Acquire(ctx, req)
	return grant, sent, err
}

// askUntilGranted waits in the service's queue, or asks again and again. The waiters of one Locker for one resource take turns at
// that, so that what the service is asked does not grow with their number.
func (lk *Locker) askUntilGranted(ctx context.Context, req driver.Request) (driver.Grant, time.Duration, error) {
	grant, sent, err := lk.askOnce(ctx, req)
	var held *driver.HeldError
	if !errors.As(err, &held) {
		return grant, sent, err
	}
	if queue, ok := lk.svc.(driver.Queuer); ok {
		return lk.askQueued(ctx, queue, req, held)
	}
	end, err := lk.waiting.Take(ctx, req.Resource)
	if err != nil {
		return grant, sent, gaveUp(ctx, held)
	}
	defer end()
	return lk.askRepeatedly(ctx, req, held)
}

// askRepeatedly asks until the resource is granted. It was held when it was asked for before.
func (lk *Locker) askRepeatedly(ctx context.Context, req driver.Request, held *driver.HeldError) (driver.Grant, time.Duration, error) {
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		lk.pause(ctx, req.Resource, pause, held.Remaining)
		if ctx.Err() != nil {
			return driver.Grant{}, 0, gaveUp(ctx, held)
		}
		grant, sent, err := lk.askOnce(ctx, req)
		switch {
		case err == nil:
			return grant, sent, nil
		case errors.As(err, &held):
		case ctx.Err() != nil:
			// It ended during the request, which may have been granted in the same moment.
			lk.abandon(ctx, driver.Grant{Resource: req.Resource, GrantID: req.GrantID})
			return grant, sent, gaveUp(ctx, held)
		default:
			return grant, sent, err
		}
	}
}

// askQueued waits in the service's queue. When the grant was made is unknown, so it is renewed once to have a deadline.
func (lk *Locker) askQueued(ctx context.Context, queue driver.Queuer, req driver.Request, held *driver.HeldError) (driver.Grant, time.Duration, error) {
	grant, err := queue.AcquireQueued(ctx, req)
	if err != nil {
		if ctx.Err() != nil {
			// Still in doubt: the grant may have been made as ctx ended.
			lk.abandon(ctx, driver.Grant{Resource: req.Resource, GrantID: req.GrantID})
			err = gaveUp(ctx, held)
		}
		return grant, 0, err
	}
	sent := lk.clock()
	return grant, sent, lk.svc.Renew(ctx, grant, req.TTL)
}

// gaveUp is both what stood in the way and why the wait ended.
func gaveUp(ctx context.Context, held *driver.HeldError) error {
	return fmt.Errorf("%w: gave up waiting: %w", held, endOf(ctx))
}

// pause waits before the next attempt, at most until the holder's lease can have ended.
func (lk *Locker) pause(ctx context.Context, resource string, pause, remaining time.Duration) {
	waiter, signals := lk.svc.(driver.Waiter)
	if signals {
		pause = signalFloor
	}
	pause -= time.Duration(lk.machine.jitter() * float64(pause/2))
	if remaining > 0 {
		pause = min(pause, remaining+time.Millisecond)
	}
	ctx, cancel := context.WithTimeout(ctx, pause)
	defer cancel()
	if signals && waiter.Wait(ctx, resource) == nil {
		return
	}
	<-ctx.Done() // also after a broken signal, which must not become a busy loop
}
