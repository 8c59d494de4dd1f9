package fencerowtest_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fencerow/fencerow/driver"
)

// fakeServer is a small lock service with room for one planted mistake. Without one it keeps every promise.
type fakeServer struct {
	mistake string
	ended   chan struct{} // closed at the end of the test, for what a mistake leaves running

	mu    sync.Mutex
	locks map[string]*fakeLock
	total int64     // numbers minted, where they are minted before the lock
	slow  *slowMint // the first of them, which is on its way
	late  int       // waiters that came in the queue
}

type fakeLock struct {
	number  int64
	floor   int64 // later numbers are greater
	grantID string
	holder  string
	expires time.Time
	queue   []chan struct{}
	retired string
	freed   chan struct{} // closed and replaced by each release
	unheard bool          // whether the reply of a renewal was lost
	promise chan struct{} // the waiter that a release has promised the lock to, where it does
}

// slowMint is a request whose number was minted and that has not reached the lock.
type slowMint struct {
	request driver.Request
	number  int64
	granted chan driver.Grant
}

func newFakeServer(mistake string) *fakeServer {
	return &fakeServer{mistake: mistake, ended: make(chan struct{}), locks: map[string]*fakeLock{}}
}

// fakeHandle is a process's connection.
type fakeHandle struct {
	*fakeServer
	source string

	over  chan struct{}     // closed when the session ends
	taken map[string]string // resource to grant id, of this session
}

func (f *fakeServer) open(context.Context) (driver.LockService, error) {
	h := &fakeHandle{fakeServer: f, source: "fake:1", over: make(chan struct{}), taken: map[string]string{}}
	switch f.mistake {
	case sourcePerHandle:
		h.source = "fake:" + rand.Text()
	case counterPerHandle:
		h.fakeServer = newFakeServer("")
	case goroutineOutlivesClose:
		go func() { <-f.ended }()
	}
	return h, nil
}

func (f *fakeServer) restart(context.Context) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.mistake == counterLostInRestart {
		clear(f.locks)
	}
	return nil
}

// endSession does what a server does that has not heard from a handle for long. The handle has another one at once.
func (f *fakeServer) endSession(_ context.Context, svc driver.LockService) error {
	h := svc.(*fakeHandle)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.mistake != sessionOutlivesItsEnd {
		for resource, grantID := range h.taken {
			if l := h.lock(resource); l.grantID == grantID {
				h.free(l)
			}
		}
	}
	clear(h.taken)
	close(h.over)
	h.over = make(chan struct{})
	return nil
}

func (h *fakeHandle) Info() driver.Info {
	return driver.Info{Source: h.source, Guarantee: driver.SingleNode, TTLUnit: fakeUnit, MinTTL: fakeMinTTL}
}

func (h *fakeHandle) Close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.mistake == closeHangs {
		h.mu.Unlock()
		<-h.ended
		h.mu.Lock()
	}
	if h.mistake == closeReleases {
		for _, l := range h.locks {
			l.grantID = ""
		}
	}
	return nil
}

// lock returns the lock of a name. It is called with the mutex held, as are the functions below it.
func (f *fakeServer) lock(name string) *fakeLock {
	switch {
	case f.mistake == namesFolded:
		name = strings.ToLower(name)
	case f.mistake == namesCut && len(name) > 100:
		name = name[:100]
	}
	l := f.locks[name]
	if l == nil {
		l = &fakeLock{freed: make(chan struct{})}
		f.locks[name] = l
	}
	return l
}

func (f *fakeServer) held(l *fakeLock) bool {
	if l.grantID == "" {
		return false
	}
	if f.mistake == neverExpires || time.Now().Before(l.expires) {
		return true
	}
	if f.mistake == counterResetOnExpiry {
		l.number, l.grantID = 0, ""
	}
	return false
}

func (f *fakeServer) current(l *fakeLock, g driver.Grant) bool {
	return f.held(l) && l.grantID == g.GrantID
}

// grant gives the lock to r under a number, or says who has it.
func (f *fakeServer) grant(r driver.Request, number int64) (driver.Grant, error) {
	l := f.lock(r.Resource)
	held := f.held(l)
	switch {
	case held && l.grantID == r.GrantID:
		if f.mistake == newNumberOnRetry {
			l.number++
		}
	case held:
		err := &driver.HeldError{Holder: l.holder, Number: l.number, Remaining: max(0, time.Until(l.expires))}
		if f.mistake == heldNamesNobody {
			err.Holder = ""
		}
		return driver.Grant{}, err
	default:
		if f.mistake != seedMissesWaiters {
			number = max(number, l.floor+1)
		}
		switch f.mistake {
		case counterResetOnExpiry:
			number = l.number + 1
		case counterIsAFloat:
			number = int64(float64(number))
		}
		l.number, l.grantID, l.holder = number, r.GrantID, r.Holder
	}
	f.prolong(l, r.TTL)
	return driver.Grant{Resource: r.Resource, GrantID: r.GrantID, Number: l.number, TTL: r.TTL}, nil
}

func (f *fakeServer) prolong(l *fakeLock, ttl time.Duration) {
	switch {
	case f.mistake == expiresEarly:
		ttl /= 2
	case f.mistake == ttlWraps && ttl > longest:
		ttl = 0
	}
	l.expires = time.Now().Add(min(ttl, longest))
}

// free ends a lease and wakes those who wait.
func (f *fakeServer) free(l *fakeLock) {
	l.grantID = ""
	close(l.freed)
	l.freed = make(chan struct{})
	if f.mistake == handOverIsLost && len(l.queue) > 0 {
		l.promise = l.queue[0]
	}
	if s := f.slow; s != nil { // the slow one gets there first, with the number that it has had for long
		f.slow = nil
		g, _ := f.grant(s.request, s.number)
		s.granted <- g
	}
}

// The bounds of a lease. There is no greatest TTL that the fake declares; it refuses those that are no whole milliseconds.
const (
	fakeUnit   = time.Millisecond
	fakeMinTTL = 2 * fakeUnit
	longest    = 1000 * time.Hour // of a lease that would otherwise end beyond the range of the clock
)

// checkTTL is called without the mutex.
func (f *fakeServer) checkTTL(ttl time.Duration) error {
	switch {
	case f.mistake == anyTTL,
		f.mistake == ttlWraps && ttl > longest,
		f.mistake == ttlIsRounded && ttl > fakeMinTTL,
		f.mistake == boundsAreNotChecked && ttl > 0 && ttl%fakeUnit == 0:
		return nil
	case ttl < fakeMinTTL || ttl%fakeUnit != 0:
		return fmt.Errorf("bad TTL %v", ttl)
	}
	return nil
}

func (h *fakeHandle) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	if err := h.checkTTL(r.TTL); err != nil {
		return driver.Grant{}, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	l := h.lock(r.Resource)
	if err := ctx.Err(); err != nil {
		if h.mistake == cancelledAcquireIsKept {
			r.GrantID += "'" // so that nobody can give it back
			_, _ = h.grant(r, l.number+1)
		}
		return driver.Grant{}, err
	}
	if h.mistake == numberBeforeLock {
		return h.mintThenLock(ctx, r)
	}
	if err := h.retiredError(l); err != nil {
		return driver.Grant{}, err
	}
	if len(l.queue) > 0 && !h.held(l) {
		return driver.Grant{}, &driver.HeldError{Holder: "the first in the queue"}
	}
	g, err := h.grant(r, l.number+1)
	if err == nil {
		h.taken[r.Resource] = r.GrantID
	}
	return g, err
}

// mintThenLock takes the number in a step of its own. The first that asks is slow on the way to the lock: another one gets there
// before it, with a greater number.
func (h *fakeHandle) mintThenLock(ctx context.Context, r driver.Request) (driver.Grant, error) {
	h.total++
	if h.total > 1 {
		return h.grant(r, h.total)
	}
	slow := &slowMint{request: r, number: h.total, granted: make(chan driver.Grant, 1)}
	h.slow = slow
	h.mu.Unlock()
	defer h.mu.Lock()
	select {
	case g := <-slow.granted:
		return g, nil
	case <-ctx.Done():
		return driver.Grant{}, ctx.Err()
	}
}

// AcquireQueued implements [driver.Queuer] by polling, first come first served.
func (h *fakeHandle) AcquireQueued(ctx context.Context, r driver.Request) (driver.Grant, error) {
	h.mu.Lock()
	l := h.lock(r.Resource)
	if err := h.retiredError(l); err != nil {
		h.mu.Unlock()
		return driver.Grant{}, err
	}
	turn := make(chan struct{}, 1)
	if h.mistake == queueIsAStack {
		l.queue = slices.Insert(l.queue, 0, turn)
	} else {
		l.queue = append(l.queue, turn)
	}
	h.late++
	early := l.number + 1
	over := h.over
	if h.mistake == waiterIgnoresItsSession {
		over = nil
	}
	forgotten := h.mistake == waiterIsForgotten && h.late == 1
	h.mu.Unlock()
	defer func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.mistake == waiterStaysInQueue && ctx.Err() != nil {
			return
		}
		l.queue = slices.DeleteFunc(l.queue, func(c chan struct{}) bool { return c == turn })
	}()
	for {
		h.mu.Lock()
		promised := l.promise == turn
		if l.queue[0] == turn && l.promise == nil && !forgotten {
			number := l.number + 1
			if h.mistake == seedMissesWaiters {
				number = early
			}
			if g, err := h.grant(r, number); err == nil {
				h.mu.Unlock()
				return g, nil
			}
		}
		h.mu.Unlock()
		pause := time.Millisecond
		if promised {
			pause *= 20 // the message takes its time, and is lost on a waiter that leaves meanwhile
		}
		select {
		case <-ctx.Done():
			return driver.Grant{}, ctx.Err()
		case <-over:
			return driver.Grant{}, errors.New("the session has ended")
		case <-time.After(pause):
		}
		if promised {
			h.mu.Lock()
			l.promise = nil
			h.mu.Unlock()
		}
	}
}

// Wait implements [driver.Waiter].
func (h *fakeHandle) Wait(ctx context.Context, resource string) error {
	h.mu.Lock()
	l := h.lock(resource)
	freed := l.freed
	h.mu.Unlock()
	if h.mistake == waitIsNeverWoken {
		freed = nil
	}
	done := ctx.Done()
	if h.mistake == waitIgnoresContext {
		done = h.ended
	}
	select {
	case <-freed:
		return nil
	case <-done:
		return context.Canceled
	}
}

func (h *fakeHandle) Renew(ctx context.Context, g driver.Grant, ttl time.Duration) error {
	errs, err := h.RenewMany(ctx, []driver.Grant{g}, ttl)
	if err != nil {
		return err
	}
	return errs[0]
}

// RenewMany implements [driver.BatchRenewer].
func (h *fakeHandle) RenewMany(ctx context.Context, grants []driver.Grant, ttl time.Duration) ([]error, error) {
	if err := h.checkTTL(ttl); err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	errs := make([]error, len(grants))
	for i, g := range grants {
		errs[i] = h.renew(ctx, g, ttl)
		if errs[i] != nil && h.mistake == batchStopsAtRefusal {
			for j := range grants[i:] {
				errs[i+j] = errs[i]
			}
			break
		}
	}
	if h.mistake == batchOutOfOrder {
		slices.Reverse(errs)
	}
	return errs, nil
}

func (h *fakeHandle) renew(ctx context.Context, g driver.Grant, ttl time.Duration) error {
	l := h.lock(g.Resource)
	switch {
	case h.mistake == renewalDoesNothing && h.current(l, g):
		return nil
	case h.mistake == renewalNeedsItsReply && h.current(l, g) && l.unheard:
		return driver.ErrNotCurrent
	case h.mistake == renewalChecksThenWrites && h.current(l, g):
		// The write is a step of its own: a release comes in between, if one is on its way.
		freed := l.freed
		h.mu.Unlock()
		select {
		case <-freed:
		case <-ctx.Done():
		}
		h.mu.Lock()
		l.grantID = g.GrantID
	case h.current(l, g):
	case h.mistake == renewByName && h.held(l):
	case h.mistake == renewalTakesBack:
		l.grantID = g.GrantID
	case h.mistake == renewalCreates && !h.held(l):
		l.grantID = g.GrantID
	case h.mistake == refusedRenewalProlongs && h.held(l):
		h.prolong(l, ttl)
		return driver.ErrNotCurrent
	default:
		return driver.ErrNotCurrent
	}
	h.prolong(l, ttl)
	if h.mistake == renewalKeepsAll {
		for resource, grantID := range h.taken {
			if other := h.lock(resource); h.held(other) && other.grantID == grantID {
				h.prolong(other, ttl)
			}
		}
	}
	return nil
}

func (h *fakeHandle) Release(_ context.Context, g driver.Grant) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	l := h.lock(g.Resource)
	switch {
	case h.mistake == releaseNeedsNumber && g.Number != l.number:
		return driver.ErrNotCurrent
	case h.current(l, g):
	case h.mistake == releaseByName && h.held(l):
	case h.mistake == releaseOfOthersIsSilent:
		return nil
	default:
		return driver.ErrNotCurrent
	}
	if h.mistake == releaseWaitsForTTL {
		return nil
	}
	h.free(l)
	if h.mistake == counterResetOnRelease {
		l.number = 0
	}
	return nil
}

// Seed implements [driver.Seeder].
func (h *fakeHandle) Seed(_ context.Context, resource string, above int64) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	l := h.lock(resource)
	switch h.mistake {
	case seedLowers:
		l.number = above
	case seedChangesTheLease:
		l.number = max(l.number, above)
	}
	l.floor = max(l.floor, above)
	return nil
}

// Retire implements [driver.Retirer].
func (h *fakeHandle) Retire(_ context.Context, resource, successor string) (int64, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	l := h.lock(resource)
	if h.held(l) && h.mistake != retiresWhatIsHeld {
		return 0, &driver.HeldError{Holder: l.holder}
	}
	if l.retired != "" && l.retired != successor {
		return 0, &driver.RetiredError{Successor: l.retired}
	}
	l.retired = successor
	return max(l.number, l.floor), nil
}

func (h *fakeHandle) retiredError(l *fakeLock) error {
	if l.retired == "" || h.mistake == retiredIsGranted {
		return nil
	}
	return &driver.RetiredError{Successor: l.retired}
}

// Inspect implements [driver.Inspector].
func (h *fakeHandle) Inspect(_ context.Context, resource string) (driver.State, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	l := h.lock(resource)
	s := driver.State{Number: max(l.number, l.floor), RetiredTo: l.retired}
	if h.held(l) || (h.mistake == inspectIgnoresExpiry && l.grantID != "") {
		s.Number = l.number
		s.Held, s.GrantID, s.Holder, s.Remaining = true, l.grantID, l.holder, time.Until(l.expires)
	}
	return s, nil
}
