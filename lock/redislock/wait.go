package redislock

import (
	"context"
	"crypto/rand"
	"sync"
	"time"

	"github.com/fencerow/fencerow/internal/waitlist"
)

// waiters are those of this process. The process is known to Redis as one waiter for each resource, and wakes one of its own when
// it is woken.
type waiters struct {
	service *Service
	process string // its name in Redis
	list    waitlist.List
	done    sync.WaitGroup

	mu        sync.Mutex
	listening bool
	noted     map[string]time.Time // by resource, when Redis was told last
}

const (
	// notedFor is how long the process trusts that Redis knows of it: a fail-over can forget it.
	notedFor = 500 * time.Millisecond
	// forgottenAfter is when Redis forgets waiters that nobody has asked about.
	forgottenAfter = time.Minute
	resubscribe    = 100 * time.Millisecond
	wakeTimeout    = 2 * time.Second
)

func (w *waiters) init(s *Service) {
	w.service, w.process, w.noted = s, rand.Text(), map[string]time.Time{}
}

// Wait implements [driver.Waiter].
func (s *Service) Wait(ctx context.Context, resource string) error {
	if s.background.Err() != nil {
		return errClosed
	}
	w := &s.waiters
	w.startListening()
	woken := w.list.Enter(resource)
	defer w.leave(resource, woken)
	for {
		if w.due(resource) {
			if free, err := w.note(ctx, resource); err != nil || free {
				return err
			}
		}
		again := time.NewTimer(notedFor)
		select {
		case <-woken:
			again.Stop()
			return nil
		case <-again.C:
		case <-ctx.Done():
			again.Stop()
			return ctx.Err()
		case <-s.background.Done():
			again.Stop()
			return errClosed
		}
	}
}

func (w *waiters) startListening() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.listening {
		w.listening = true
		w.done.Go(w.listen)
	}
}

// due says whether Redis is to be told, once for all who wait for the resource.
func (w *waiters) due(resource string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if time.Since(w.noted[resource]) < notedFor {
		return false
	}
	w.noted[resource] = time.Now()
	return true
}

func (w *waiters) forget(resource string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.noted, resource)
}

func (w *waiters) leave(resource string, woken chan struct{}) {
	if w.list.Leave(resource, woken) && w.service.background.Err() == nil {
		w.done.Go(func() { w.wake(resource) })
	}
	if !w.list.Waiting(resource) {
		w.forget(resource)
	}
}

// note tells Redis that the process waits, and says whether the lock is free now.
func (w *waiters) note(ctx context.Context, resource string) (free bool, err error) {
	k := w.service.keys(resource)
	replies, err := w.service.run(ctx, waitScript, []string{k.lock, k.waiters}, []string{w.process, millis(forgottenAfter)})
	if err != nil {
		return false, failed("wait for", resource, err)
	}
	return replies[0].Value == int64(1), nil
}

// listen receives what wakes the process, until the service is closed.
func (w *waiters) listen() {
	ctx := w.service.background
	for ctx.Err() == nil {
		_ = w.service.conn.Subscribe(ctx, w.service.channel()+w.process, w.wake) // waiters look by themselves meanwhile
		select {
		case <-time.After(resubscribe):
		case <-ctx.Done():
		}
	}
}

// wake wakes the waiter that has waited longest. If others wait for the same resource Redis is told again, and if nobody does
// the next process is woken instead.
func (w *waiters) wake(resource string) {
	woke, more := w.list.Wake(resource)
	if !more {
		w.forget(resource)
	}
	ctx, cancel := context.WithTimeout(w.service.background, wakeTimeout)
	defer cancel()
	switch {
	case more:
		if free, err := w.note(ctx, resource); err == nil && free {
			w.wake(resource)
		}
	case !woke:
		k := w.service.keys(resource)
		_, _ = w.service.run(ctx, passScript, []string{k.lock, k.waiters}, []string{w.service.channel(), resource}) // a hint
	}
}
