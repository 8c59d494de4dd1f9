package fencerowtest_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fencerow/fencerow/driver"
	"github.com/fencerow/fencerow/fencerowtest"
)

// fakeLocks is a small lock service with room for one planted mistake.
type fakeLocks struct {
	mistake string

	mu    sync.Mutex
	locks map[string]*fakeLock
	total int64
}

type fakeLock struct {
	number  int64
	grantID string
	holder  string
	expires time.Time
	queue   []chan struct{}
}

const (
	counterResetOnRelease   = "counter reset on release"
	counterResetOnExpiry    = "counter reset on expiry"
	counterPerHandle        = "counter per handle"
	releaseByName           = "release by name"
	renewByName             = "renewal by name"
	refusedRenewalProlongs  = "refused renewal prolongs"
	renewalCreates          = "renewal creates"
	numberBeforeLock        = "number is minted before the lock"
	neverExpires            = "lease never ends"
	expiresEarly            = "lease ends early"
	newNumberOnRetry        = "repeated acquire is a new grant"
	anyTTL                  = "any TTL is accepted"
	ttlWraps                = "a long TTL wraps to a short one"
	namesFolded             = "names are compared without case"
	namesCut                = "names are cut"
	waiterStaysInQueue      = "waiter stays in the queue"
	queueIsAStack           = "last come, first served"
	releaseNeedsNumber      = "release needs the number"
	releaseOfOthersIsSilent = "release of another grant is silent"
	seedLowers              = "seed lowers"
)

func TestKitFindsNothingInTheCorrectLockService(t *testing.T) {
	if report := fencerowtest.CheckLocks(t.Context(), fakeLocksHarness("")); len(report.Violations()) > 0 {
		t.Fatalf("the kit accuses a correct lock service:\n%s", report)
	}
}

func TestKitFindsEachMistakeOfALockService(t *testing.T) {
	for mistake, caught := range map[string]string{
		counterResetOnRelease:   "numbers-grow-across-release",
		counterResetOnExpiry:    "numbers-grow-across-expiry",
		counterPerHandle:        "numbers-grow-across-reopening",
		releaseByName:           "late-release-changes-nothing",
		renewByName:             "late-renewal-changes-nothing",
		refusedRenewalProlongs:  "late-renewal-changes-nothing",
		renewalCreates:          "renewal-never-creates",
		numberBeforeLock:        "racing-acquirers-exclude",
		neverExpires:            "numbers-grow-across-expiry",
		expiresEarly:            "lease-lasts-its-ttl",
		newNumberOnRetry:        "repeated-acquire-is-the-same-grant",
		anyTTL:                  "ttl-is-checked",
		ttlWraps:                "ttl-is-checked",
		namesFolded:             "resources-are-independent",
		namesCut:                "resources-are-independent",
		waiterStaysInQueue:      "cancelled-waiter-leaves-the-queue",
		queueIsAStack:           "queue-is-in-order",
		releaseNeedsNumber:      "release-by-grant-id-alone",
		releaseOfOthersIsSilent: "release-needs-the-grant",
		seedLowers:              "seed-only-raises",
	} {
		t.Run(mistake, func(t *testing.T) {
			t.Parallel()
			report := fencerowtest.CheckLocks(t.Context(), fakeLocksHarness(mistake), caught)
			if len(report.Violations()) != 1 {
				t.Fatalf("the case %s does not find it:\n%s", caught, report)
			}
			t.Log(report.Violations()[0].Detail)
		})
	}
}

func fakeLocksHarness(mistake string) fencerowtest.LockHarness {
	shared := &fakeLocks{mistake: mistake, locks: map[string]*fakeLock{}}
	return fencerowtest.LockHarness{
		Name: "fake",
		Open: func(context.Context) (driver.LockService, error) {
			if mistake == counterPerHandle {
				return &fakeLocks{mistake: mistake, locks: map[string]*fakeLock{}}, nil
			}
			return shared, nil
		},
		TTL: 60 * time.Millisecond,
	}
}

func (f *fakeLocks) Info() driver.Info {
	return driver.Info{Source: "fake:1", Guarantee: driver.SingleNode, TTLUnit: time.Millisecond}
}
func (f *fakeLocks) Close() error { return nil }

func (f *fakeLocks) lock(name string) *fakeLock {
	switch {
	case f.mistake == namesFolded:
		name = strings.ToLower(name)
	case f.mistake == namesCut && len(name) > 100:
		name = name[:100]
	}
	l := f.locks[name]
	if l == nil {
		l = new(fakeLock)
		f.locks[name] = l
	}
	return l
}

func (f *fakeLocks) held(l *fakeLock) bool {
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

func (f *fakeLocks) checkTTL(ttl time.Duration) error {
	if ttl < time.Millisecond && f.mistake != anyTTL {
		return fmt.Errorf("bad TTL %v", ttl)
	}
	return nil
}

func (f *fakeLocks) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	if err := ctx.Err(); err != nil {
		return driver.Grant{}, err
	}
	if err := f.checkTTL(r.TTL); err != nil {
		return driver.Grant{}, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.mistake == numberBeforeLock {
		// The number comes from a statement of its own; who is slower is granted later with a lower one.
		f.total++
		minted := f.total
		f.mu.Unlock()
		time.Sleep(time.Duration(minted%3) * time.Millisecond)
		f.mu.Lock()
		return f.grant(r, minted)
	}
	return f.grant(r, f.lock(r.Resource).number+1)
}

func (f *fakeLocks) grant(r driver.Request, number int64) (driver.Grant, error) {
	l := f.lock(r.Resource)
	held := f.held(l)
	switch {
	case held && l.grantID == r.GrantID:
		if f.mistake == newNumberOnRetry {
			l.number++
		}
	case held:
		return driver.Grant{}, &driver.HeldError{Holder: l.holder, Number: l.number, Remaining: max(0, time.Until(l.expires))}
	default:
		if f.mistake == counterResetOnExpiry {
			number = l.number + 1
		}
		l.number, l.grantID, l.holder = number, r.GrantID, r.Holder
	}
	ttl := r.TTL
	if f.mistake == expiresEarly {
		ttl /= 2
	}
	l.expires = time.Now().Add(min(ttl, 1000*time.Hour))
	if f.mistake == ttlWraps && ttl > 1000*time.Hour {
		l.expires = time.Now()
	}
	return driver.Grant{Resource: r.Resource, GrantID: r.GrantID, Number: l.number, TTL: r.TTL}, nil
}

func (f *fakeLocks) AcquireQueued(ctx context.Context, r driver.Request) (driver.Grant, error) {
	f.mu.Lock()
	l := f.lock(r.Resource)
	turn := make(chan struct{}, 1)
	if f.mistake == queueIsAStack {
		l.queue = slices.Insert(l.queue, 0, turn)
	} else {
		l.queue = append(l.queue, turn)
	}
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.mistake == waiterStaysInQueue && ctx.Err() != nil {
			return
		}
		l.queue = slices.DeleteFunc(l.queue, func(c chan struct{}) bool { return c == turn })
	}()
	for {
		f.mu.Lock()
		if l.queue[0] == turn {
			if g, err := f.grant(r, l.number+1); err == nil {
				f.mu.Unlock()
				return g, nil
			}
		}
		f.mu.Unlock()
		select {
		case <-ctx.Done():
			return driver.Grant{}, ctx.Err()
		case <-time.After(time.Millisecond):
		}
	}
}

func (f *fakeLocks) current(l *fakeLock, g driver.Grant) bool {
	return f.held(l) && l.grantID == g.GrantID
}

func (f *fakeLocks) Renew(_ context.Context, g driver.Grant, ttl time.Duration) error {
	if err := f.checkTTL(ttl); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	l := f.lock(g.Resource)
	switch {
	case f.current(l, g):
	case f.mistake == renewByName && f.held(l):
	case f.mistake == renewalCreates && !f.held(l):
		l.grantID = g.GrantID
	case f.mistake == refusedRenewalProlongs && f.held(l):
		l.expires = time.Now().Add(ttl)
		return driver.ErrNotCurrent
	default:
		return driver.ErrNotCurrent
	}
	l.expires = time.Now().Add(ttl)
	return nil
}

func (f *fakeLocks) Release(_ context.Context, g driver.Grant) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	l := f.lock(g.Resource)
	switch {
	case f.mistake == releaseNeedsNumber && g.Number != l.number:
		return driver.ErrNotCurrent
	case f.current(l, g):
	case f.mistake == releaseByName && f.held(l):
	case f.mistake == releaseOfOthersIsSilent:
		return nil
	default:
		return driver.ErrNotCurrent
	}
	l.grantID = ""
	if f.mistake == counterResetOnRelease {
		l.number = 0
	}
	return nil
}

func (f *fakeLocks) Seed(_ context.Context, resource string, above int64) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	l := f.lock(resource)
	if f.mistake == seedLowers {
		l.number = above
	}
	l.number = max(l.number, above)
	return nil
}
