package fencerow

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fencerow/fencerow/driver"
)

const (
	// maxRenewers bounds the requests under way at once, and with them the goroutines of a Locker, whatever the number of
	// its leases.
	maxRenewers = 4
	// renewBatch is the number of grants in one request, where the service takes several.
	renewBatch = 500
	// longestSleep bounds how late the runner notices that the machine was suspended, which its timer does not count.
	longestSleep = 500 * time.Millisecond
)

// startRunner is called with the mutex held when there is a lease to look after.
func (lk *Locker) startRunner() {
	if !lk.running {
		lk.running = true
		lk.done.Go(lk.run)
	}
	lk.poke()
}

// poke makes the runner look again.
func (lk *Locker) poke() {
	select {
	case lk.wake <- struct{}{}:
	default:
	}
}

// run carries out what the machine decides, until there are no leases left.
func (lk *Locker) run() {
	for {
		lk.mu.Lock()
		if lk.machine.idle() {
			lk.running = false
			lk.mu.Unlock()
			return
		}
		now := lk.clock()
		lost := lk.machine.advance(now)
		for range min((len(lk.machine.due)+lk.batch-1)/lk.batch, maxRenewers-lk.renewers) {
			lk.renewers++
			lk.done.Go(lk.renewDue)
		}
		next, any := lk.machine.next()
		lk.mu.Unlock()

		for _, e := range lost {
			e.lease.lose(context.Background(), e.lease.overdue())
		}
		if !any {
			continue
		}
		timer := time.NewTimer(min(max(next-now, 0), longestSleep))
		select {
		case <-timer.C:
		case <-lk.wake:
			timer.Stop()
		}
	}
}

// renewDue renews until no renewal is due.
func (lk *Locker) renewDue() {
	for {
		lk.mu.Lock()
		batch := lk.machine.take(lk.batch)
		if len(batch) == 0 {
			lk.renewers--
			lk.mu.Unlock()
			lk.poke()
			return
		}
		sent := lk.clock()
		lk.mu.Unlock()

		// A request that takes longer than the time between two renewals is worth less than a new one.
		ctx, cancel := context.WithTimeout(lk.background, shortest(batch)/3)
		errs := lk.renew(ctx, batch)
		cancel()
		lk.settle(batch, sent, errs)
	}
}

// shortest returns the shortest TTL in the batch. A service may have applied less than it was asked for.
func shortest(batch []*entry) time.Duration {
	ttl := batch[0].grant.TTL
	for _, e := range batch[1:] {
		ttl = min(ttl, e.grant.TTL)
	}
	return ttl
}

// renew returns one answer for each lease of the batch.
func (lk *Locker) renew(ctx context.Context, batch []*entry) []error {
	if many, ok := lk.svc.(driver.BatchRenewer); ok {
		grants := make([]driver.Grant, len(batch))
		for i, e := range batch {
			grants[i] = e.grant
		}
		errs, err := many.RenewMany(ctx, grants, lk.opts.TTL)
		if err == nil && len(errs) != len(batch) {
			err = fmt.Errorf("the lock service broke its contract: %d answers for %d grants", len(errs), len(batch))
		}
		if err == nil {
			return errs
		}
		errs = make([]error, len(batch))
		for i := range errs {
			errs[i] = err
		}
		return errs
	}
	return []error{lk.svc.Renew(ctx, batch[0].grant, lk.opts.TTL)}
}

// settle tells the machine and the leases what the service answered.
func (lk *Locker) settle(batch []*entry, sent time.Duration, errs []error) {
	for i, e := range batch {
		lk.mu.Lock()
		lost := lk.machine.renewed(e, sent, lk.clock(), errs[i])
		gone := e.lease.err
		lk.mu.Unlock()
		switch {
		case lost:
			e.lease.lose(context.Background(), fmt.Errorf("the lock service refused to renew it: %w", errs[i]))
		case errs[i] == nil && gone != nil && !errors.Is(gone, ErrReleased):
			// It was prolonged after this process had given it up for lost: do not make others wait for nobody.
			lk.abandon(context.Background(), e.grant)
		}
	}
	lk.poke()
}
