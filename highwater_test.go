package fencerow_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/fencerow/fencerow"
	"github.com/fencerow/fencerow/driver"
	"github.com/fencerow/fencerow/lock/memlock"
)

// marks is a high-water store in memory.
type marks struct {
	mu    sync.Mutex
	mark  int64
	err   error
	raise func() // called before each raise
}

func (m *marks) Raise(_ context.Context, _ string, _ fencerow.Resource, number int64) (int64, bool, error) {
	if m.raise != nil {
		m.raise()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.err != nil {
		return 0, false, m.err
	}
	if number <= m.mark {
		return m.mark, false, nil
	}
	m.mark = number
	return number, true, nil
}

func (m *marks) Mark(context.Context, string, fencerow.Resource) (int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.mark, m.err
}

func (m *marks) Highest(ctx context.Context, source string) (int64, error) {
	return m.Mark(ctx, source, "")
}

func lockerOn(t *testing.T, svc driver.LockService, opts fencerow.Options) *fencerow.Locker {
	t.Helper()
	lk, err := fencerow.New(svc, &opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = lk.Close() })
	return lk
}

func TestRegressedGrantIsRefusedToldAndRepaired(t *testing.T) {
	t.Parallel()
	store := &marks{mark: 100} // the service has granted 100 and lost it
	svc := memlock.New()
	var told []int64
	lk := lockerOn(t, svc, fencerow.Options{HighWater: store, Observer: &fencerow.Observer{
		Regressed: func(_ context.Context, token fencerow.Token, mark int64) { told = append(told, token.Number(), mark) },
	}})
	_, err := lk.TryAcquire(t.Context(), "account/42")
	var regressed *fencerow.RegressedError
	if !errors.Is(err, fencerow.ErrRegressed) || !errors.As(err, &regressed) || regressed.Number != 1 || regressed.Mark != 100 {
		t.Fatalf("number 1 after number 100: %v", err)
	}
	if len(told) != 2 || told[0] != 1 || told[1] != 100 {
		t.Errorf("the observer was told %v", told)
	}
	// The refused grant was given back.
	if state, err := svc.Inspect(t.Context(), "account/42"); err != nil || state.Held {
		t.Errorf("after the refusal: %+v, %v", state, err)
	}
	if err := lk.Repair(t.Context(), "account/42"); err != nil {
		t.Fatal(err)
	}
	lease, err := lk.TryAcquire(t.Context(), "account/42")
	if err != nil || lease.Token().Number() <= 100 {
		t.Fatalf("after the repair: %v, %v", lease, err)
	}
}

// A grant can come to the store after its successor's, without anything being lost.
func TestOvertakenGrantIsNoRegression(t *testing.T) {
	t.Parallel()
	svc := memlock.New()
	store := &marks{}
	regressions := 0
	opts := fencerow.Options{HighWater: store, TTL: time.Minute, Observer: &fencerow.Observer{
		Regressed: func(context.Context, fencerow.Token, int64) { regressions++ },
	}}
	slow, fast := lockerOn(t, svc, opts), lockerOn(t, svc, opts)
	store.raise = func() { // the slow one's grant ends before it reaches the store
		store.raise = nil
		state, err := svc.Inspect(t.Context(), "account/42")
		if err == nil {
			err = svc.Release(t.Context(), driver.Grant{Resource: "account/42", GrantID: state.GrantID})
		}
		if err != nil {
			t.Error(err)
		}
		if _, err := fast.TryAcquire(t.Context(), "account/42"); err != nil {
			t.Error(err)
		}
	}
	_, err := slow.TryAcquire(t.Context(), "account/42")
	if !errors.Is(err, fencerow.ErrLost) || errors.Is(err, fencerow.ErrRegressed) || regressions != 0 {
		t.Errorf("a grant that was overtaken: %v, and %d regressions were told", err, regressions)
	}
}

// A store that does not answer is no permission.
func TestStoreThatFailsRefusesTheGrant(t *testing.T) {
	t.Parallel()
	broken := errors.New("the store is gone")
	svc := memlock.New()
	lk := lockerOn(t, svc, fencerow.Options{HighWater: &marks{err: broken}})
	if _, err := lk.TryAcquire(t.Context(), "account/42"); !errors.Is(err, broken) {
		t.Errorf("acquire: %v", err)
	}
	if state, err := svc.Inspect(t.Context(), "account/42"); err != nil || state.Held {
		t.Errorf("the grant was kept: %+v, %v", state, err)
	}
	if err := lk.Repair(t.Context(), "account/42"); !errors.Is(err, broken) {
		t.Errorf("repair: %v", err)
	}
	if err := lockerOn(t, memlock.New(), fencerow.Options{}).Repair(t.Context(), "account/42"); err == nil {
		t.Error("repair without a store: no error")
	}
}

func TestHandover(t *testing.T) {
	t.Parallel()
	from, to := memlock.New(), memlock.New()
	old := lockerOn(t, from, fencerow.Options{})
	lease, err := old.TryAcquire(t.Context(), "account/42")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fencerow.Handover(t.Context(), from, to, "account/42"); !errors.Is(err, fencerow.ErrHeld) {
		t.Errorf("while it is held: %v", err)
	}
	if err := lease.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	above, err := fencerow.Handover(t.Context(), from, to, "account/42")
	if err != nil || above != lease.Token().Number() {
		t.Fatalf("hand-over: %d, %v", above, err)
	}
	for name, acquire := range map[string]func(context.Context, fencerow.Resource) (*fencerow.Lease, error){
		"TryAcquire": old.TryAcquire, "Acquire": old.Acquire,
	} {
		if _, err := acquire(t.Context(), "account/42"); !errors.Is(err, fencerow.ErrRetired) {
			t.Errorf("%s at the old service: %v", name, err)
		}
	}
	next, err := lockerOn(t, to, fencerow.Options{}).TryAcquire(t.Context(), "account/42")
	if err != nil || next.Token().Number() <= lease.Token().Number() {
		t.Errorf("the new service: %v, %v", next, err)
	}
	if _, err := fencerow.Handover(t.Context(), from, memlock.New(), "account/42"); err == nil {
		t.Error("a hand-over to a second successor: no error")
	}
	if _, err := fencerow.Handover(t.Context(), from, from, "account/42"); err == nil {
		t.Error("a hand-over to itself: no error")
	}
}
