package memlock

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/fencerow/fencerow/driver"
	"github.com/fencerow/fencerow/internal/clock"
)

// Service is a lock service in memory. It also implements [driver.Queuer], [driver.BatchRenewer], [driver.Seeder],
// [driver.Retirer] and [driver.Inspector].
type Service struct {
	source string
	clock  clock.Clock

	mu     sync.Mutex
	locks  map[string]*lock
	closed chan struct{}
}

var (
	_ driver.LockService  = (*Service)(nil)
	_ driver.Queuer       = (*Service)(nil)
	_ driver.BatchRenewer = (*Service)(nil)
	_ driver.Seeder       = (*Service)(nil)
	_ driver.Retirer      = (*Service)(nil)
	_ driver.Inspector    = (*Service)(nil)
)

// lock is one resource. It is never removed, because its number must not start again.
type lock struct {
	number  int64  // of the latest grant
	floor   int64  // seeded: later numbers are greater
	grantID string // empty when released
	holder  string
	expires time.Duration
	queue   []*waiter
	retired string // the successor's source, empty if it was not handed over
}

type waiter struct {
	req     driver.Request
	granted chan driver.Grant // of capacity 1
}

// maxTTL keeps the end of a lease within the range of the clock.
const (
	minTTL = time.Millisecond
	maxTTL = 365 * 24 * time.Hour
)

var errClosed = errors.New("memlock: service is closed")

// New returns an empty service with a source of its own.
func New() *Service {
	return &Service{
		source: "memory:" + rand.Text(),
		clock:  clock.New(),
		locks:  make(map[string]*lock),
		closed: make(chan struct{}),
	}
}

// Info implements [driver.LockService].
func (s *Service) Info() driver.Info {
	return driver.Info{Source: s.source, Guarantee: driver.SingleNode, TTLUnit: time.Nanosecond, MinTTL: minTTL, MaxTTL: maxTTL}
}

// Acquire implements [driver.LockService]. A resource with waiters is held, so that nobody overtakes them.
func (s *Service) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	if err := s.check(ctx, r.TTL); err != nil {
		return driver.Grant{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.lock(r.Resource)
	s.handOver(l)
	if l.retired != "" {
		return driver.Grant{}, &driver.RetiredError{Successor: l.retired}
	}
	return s.grant(l, r)
}

// AcquireQueued implements [driver.Queuer].
func (s *Service) AcquireQueued(ctx context.Context, r driver.Request) (driver.Grant, error) {
	if err := s.check(ctx, r.TTL); err != nil {
		return driver.Grant{}, err
	}
	w := &waiter{req: r, granted: make(chan driver.Grant, 1)}
	s.mu.Lock()
	l := s.lock(r.Resource)
	if s.current(l, driver.Grant{GrantID: r.GrantID}) { // the reply to an earlier request was lost
		defer s.mu.Unlock()
		return s.grant(l, r)
	}
	if l.retired != "" {
		defer s.mu.Unlock()
		return driver.Grant{}, &driver.RetiredError{Successor: l.retired}
	}
	l.queue = append(l.queue, w)
	s.handOver(l)
	remaining := l.expires - s.clock.Now()
	s.mu.Unlock()

	for {
		timer := time.NewTimer(max(remaining, time.Millisecond))
		select {
		case g := <-w.granted:
			timer.Stop()
			return g, nil
		case <-ctx.Done():
			timer.Stop()
			s.leave(l, w)
			return driver.Grant{}, ctx.Err()
		case <-s.closed:
			timer.Stop()
			s.leave(l, w)
			return driver.Grant{}, errClosed
		case <-timer.C: // the holder's lease may have ended without a release
			s.mu.Lock()
			s.handOver(l)
			remaining = l.expires - s.clock.Now()
			s.mu.Unlock()
		}
	}
}

// leave takes a waiter out of the queue, and gives on what it was granted in the same moment.
func (s *Service) leave(l *lock, w *waiter) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, other := range l.queue {
		if other == w {
			l.queue = append(l.queue[:i], l.queue[i+1:]...)
			return
		}
	}
	g := <-w.granted
	if l.grantID == g.GrantID {
		l.grantID = ""
		s.handOver(l)
	}
}

// Renew implements [driver.LockService].
func (s *Service) Renew(ctx context.Context, g driver.Grant, ttl time.Duration) error {
	if err := s.check(ctx, ttl); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.renew(g, ttl)
}

// RenewMany implements [driver.BatchRenewer].
func (s *Service) RenewMany(ctx context.Context, grants []driver.Grant, ttl time.Duration) ([]error, error) {
	if err := s.check(ctx, ttl); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	errs := make([]error, len(grants))
	for i, g := range grants {
		errs[i] = s.renew(g, ttl)
	}
	return errs, nil
}

// Release implements [driver.LockService].
func (s *Service) Release(ctx context.Context, g driver.Grant) error {
	if err := s.check(ctx, time.Second); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.lock(g.Resource)
	if !s.current(l, g) {
		return driver.ErrNotCurrent
	}
	l.grantID = ""
	s.handOver(l)
	return nil
}

// Seed implements [driver.Seeder].
func (s *Service) Seed(ctx context.Context, resource string, above int64) error {
	if err := s.check(ctx, time.Second); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.lock(resource)
	l.floor = max(l.floor, above) // not the number: that is the running lease's
	return nil
}

// Retire implements [driver.Retirer].
func (s *Service) Retire(ctx context.Context, resource, successor string) (highest int64, err error) {
	if err := s.check(ctx, time.Second); err != nil {
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.lock(resource)
	s.handOver(l)
	switch {
	case s.held(l):
		return 0, &driver.HeldError{Holder: l.holder, Number: l.number, Remaining: l.expires - s.clock.Now()}
	case l.retired != "" && l.retired != successor:
		return 0, &driver.RetiredError{Successor: l.retired}
	}
	l.retired = successor
	return max(l.number, l.floor), nil
}

// Inspect implements [driver.Inspector].
func (s *Service) Inspect(ctx context.Context, resource string) (driver.State, error) {
	if err := s.check(ctx, time.Second); err != nil {
		return driver.State{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	l, ok := s.locks[resource]
	if !ok {
		return driver.State{}, nil
	}
	if !s.held(l) {
		return driver.State{Number: max(l.number, l.floor), RetiredTo: l.retired}, nil
	}
	return driver.State{Number: l.number, Held: true, GrantID: l.grantID, Holder: l.holder, Remaining: l.expires - s.clock.Now()}, nil
}

// Close implements [driver.LockService]. Waiters get an error.
func (s *Service) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.isClosed() {
		close(s.closed)
	}
	return nil
}

func (s *Service) check(ctx context.Context, ttl time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if s.isClosed() {
		return errClosed
	}
	if ttl < minTTL || ttl > maxTTL {
		return fmt.Errorf("memlock: the TTL is %v, it must be from %v to %v", ttl, minTTL, maxTTL)
	}
	return nil
}

func (s *Service) isClosed() bool {
	select {
	case <-s.closed:
		return true
	default:
		return false
	}
}

// The functions below are called with the mutex held.

func (s *Service) lock(resource string) *lock {
	l, ok := s.locks[resource]
	if !ok {
		l = new(lock)
		s.locks[resource] = l
	}
	return l
}

func (s *Service) held(l *lock) bool { return l.grantID != "" && s.clock.Now() < l.expires }

func (s *Service) current(l *lock, g driver.Grant) bool { return s.held(l) && l.grantID == g.GrantID }

// grant gives the lock to r, or says who has it.
func (s *Service) grant(l *lock, r driver.Request) (driver.Grant, error) {
	now := s.clock.Now()
	switch {
	case s.current(l, driver.Grant{GrantID: r.GrantID}): // the reply to an earlier request was lost
	case s.held(l):
		return driver.Grant{}, &driver.HeldError{Holder: l.holder, Number: l.number, Remaining: l.expires - now}
	case max(l.number, l.floor) == math.MaxInt64:
		return driver.Grant{}, fmt.Errorf("memlock: the numbers of %q are used up", r.Resource)
	default:
		l.number = max(l.number, l.floor) + 1
		l.grantID, l.holder = r.GrantID, r.Holder
	}
	l.expires = now + r.TTL
	return driver.Grant{Resource: r.Resource, GrantID: r.GrantID, Number: l.number, TTL: r.TTL}, nil
}

// handOver gives a free lock to the first in the queue, and to a repetition of its request.
func (s *Service) handOver(l *lock) {
	if len(l.queue) == 0 || s.held(l) {
		return
	}
	first := l.queue[0].req
	g, err := s.grant(l, first)
	if err != nil {
		return // used up: the waiters stay until their contexts end
	}
	var behind []*waiter
	for _, w := range l.queue {
		if w.req.GrantID == first.GrantID {
			w.granted <- g
		} else {
			behind = append(behind, w)
		}
	}
	l.queue = behind
}

func (s *Service) renew(g driver.Grant, ttl time.Duration) error {
	l := s.lock(g.Resource)
	if !s.current(l, g) {
		return driver.ErrNotCurrent
	}
	l.expires = s.clock.Now() + ttl
	return nil
}
