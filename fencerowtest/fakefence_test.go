package fencerowtest_test

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/fencerow/fencerow"
	"github.com/fencerow/fencerow/fencerowtest"
)

// fakeFence is a small fence with room for one planted mistake. Without one it keeps every promise of its features.
type fakeFence struct {
	features fencerowtest.Features
	mistake  string

	mu    sync.Mutex
	rows  map[fencerow.Resource]*fakeRow
	meets int           // writers that have passed the check, where the write is a step of its own
	met   chan struct{} // closed by the second of them
}

type fakeRow struct {
	value, number, step int64
	first, second       int64 // of transfers
	claimedValue        int64
	grant, source       string
	null                bool
}

func newFakeFence(features fencerowtest.Features, mistake string) *fakeFence {
	return &fakeFence{features: features, mistake: mistake, rows: map[fencerow.Resource]*fakeRow{}, met: make(chan struct{})}
}

func (f *fakeFence) newResource(ctx context.Context) (fencerow.Resource, error) {
	r, err := newName(ctx)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rows[r] = &fakeRow{}
	return r, err
}

func (f *fakeFence) setNull(_ context.Context, r fencerow.Resource) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rows[r].null = f.mistake != nullIsZero
	return nil
}

func (f *fakeFence) remove(_ context.Context, r fencerow.Resource) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rows[r].value = 0
	if f.mistake == removalForgetsTheMark {
		f.rows[r] = &fakeRow{}
	}
	return nil
}

func (f *fakeFence) Load(_ context.Context, r fencerow.Resource) (int64, int64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	row := f.rows[r]
	if row == nil {
		return 0, 0, fencerow.ErrMissing
	}
	return row.value, row.number, nil
}

func (f *fakeFence) Claim(ctx context.Context, s fencerow.Stamp, r fencerow.Resource) (int64, error) {
	value, err := f.claim(s, r)
	if err != nil && f.mistake == refusedClaimForgetsSteps {
		f.mu.Lock()
		if row := f.rows[r]; row != nil {
			row.step = 0
		}
		f.mu.Unlock()
	}
	return value, f.settle(ctx, s, err)
}

func (f *fakeFence) Write(ctx context.Context, s fencerow.Stamp, r fencerow.Resource, value int64) error {
	err := f.write(ctx, s, r, func(row *fakeRow) error { row.value = value; return nil })
	if err == nil && ctx.Err() != nil && f.mistake == appliedIsCalledCancelled {
		err = ctx.Err()
	}
	return f.settle(ctx, s, err)
}

// Transact implements [fencerowtest.Transactor].
func (f *fakeFence) Transact(ctx context.Context, s fencerow.Stamp, r fencerow.Resource, values []int64, last func(context.Context) error) error {
	err := f.write(ctx, s, r, func(row *fakeRow) error {
		before := *row
		for _, value := range values {
			row.value = value
		}
		if f.mistake == checkThenCommit {
			*row = before // not seen before the commit, and not locked either
			f.mu.Unlock()
			err := last(ctx)
			f.mu.Lock()
			row.value = values[len(values)-1]
			return err
		}
		err := last(ctx)
		if err != nil && f.mistake != failureIsNotRolledBack {
			*row = before
		}
		if err != nil && f.mistake == failureUsesTheStamp {
			row.step = s.Step()
		}
		return err
	})
	return f.settle(ctx, s, err)
}

// Delete implements [fencerowtest.Deleter].
func (f *fakeFence) Delete(ctx context.Context, s fencerow.Stamp, r fencerow.Resource) error {
	err := f.write(ctx, s, r, func(row *fakeRow) error { row.value = 0; return nil })
	if err == nil && f.mistake == deleteForgetsTheMark {
		f.mu.Lock()
		f.rows[r] = &fakeRow{}
		f.mu.Unlock()
	}
	return f.settle(ctx, s, err)
}

// Transfer implements [fencerowtest.Transferrer].
func (f *fakeFence) Transfer(ctx context.Context, s fencerow.Stamp, r fencerow.Resource, amount int64) error {
	if f.mistake != pairIsTwoWrites {
		return f.settle(ctx, s, f.write(ctx, s, r, func(row *fakeRow) error { row.first -= amount; row.second += amount; return nil }))
	}
	err := f.write(ctx, s, r, func(row *fakeRow) error { row.first -= amount; return nil })
	if err == nil {
		time.Sleep(time.Millisecond)
		f.mu.Lock()
		defer f.mu.Unlock()
		row := f.rows[r]
		if row.number > s.Token().Number() {
			err = &fencerow.StaleError{Resource: r, Presented: s.Token().Number(), Stored: row.number}
		} else {
			row.second += amount
		}
	}
	return f.settle(ctx, s, err)
}

// LoadPair implements [fencerowtest.Transferrer].
func (f *fakeFence) LoadPair(_ context.Context, r fencerow.Resource) (int64, int64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.rows[r].first, f.rows[r].second, nil
}

func (f *fakeFence) settle(ctx context.Context, s fencerow.Stamp, err error) error {
	if f.mistake == staleIsForgotten {
		return err
	}
	return s.Settle(ctx, nil, fencerow.Write, err)
}

// find checks the stamp and returns the row. It is called with the mutex held, as are the functions below it.
func (f *fakeFence) find(s fencerow.Stamp, r fencerow.Resource) (*fakeRow, error) {
	err := s.Check(r)
	switch {
	case f.mistake == anyResource && fencerow.VerdictOf(err) == fencerow.SourceMismatch:
	case f.mistake == zeroTokenAdmitted && fencerow.VerdictOf(err) == fencerow.Unfenced:
	case err != nil:
		return nil, err
	}
	row := f.rows[r]
	switch {
	case row == nil && f.mistake == zeroRowsIsStale:
		return nil, &fencerow.StaleError{Resource: r, Presented: s.Token().Number(), Stored: s.Token().Number() + 1}
	case row == nil:
		return nil, fencerow.ErrMissing
	case row.null:
		return nil, fencerow.ErrUnfenced
	case f.features.Sources && row.source != "" && row.source != s.Token().Source() && f.mistake != sourceIsNotCompared:
		return nil, fencerow.ErrMismatch
	}
	return row, nil
}

// older compares as the mistake has it.
func (f *fakeFence) older(a, b int64) bool {
	switch f.mistake {
	case floatNumbers:
		return float64(a) < float64(b)
	case textNumbers:
		return fmt.Sprint(a) < fmt.Sprint(b)
	case equalityNotOrder:
		return false
	}
	return a < b
}

// record makes the grant of a stamp the owner of the mark.
func (row *fakeRow) record(s fencerow.Stamp, step int64) {
	row.number, row.grant, row.source, row.step = s.Token().Number(), s.Token().GrantID(), s.Token().Source(), step
}

func (f *fakeFence) claim(s fencerow.Stamp, r fencerow.Resource) (int64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	row, err := f.find(s, r)
	if err != nil {
		return 0, err
	}
	t := s.Token()
	switch {
	case f.mistake == claimThatOnlyReads:
		return row.value, nil
	case f.mistake == lastClaimWins:
		row.record(s, 0)
	case f.older(t.Number(), row.number):
		return 0, &fencerow.StaleError{Resource: r, Presented: t.Number(), Stored: row.number}
	case row.number == t.Number() && row.grant != t.GrantID():
		if f.mistake != laxClaim && f.mistake != grantIsNotCompared {
			return 0, fencerow.ErrTokenReused
		}
		row.grant = t.GrantID()
	case f.features.MaxJump > 0 && row.number > 0 && t.Number()-row.number > f.features.MaxJump && f.mistake != anyJumpAdmitted:
		return 0, fencerow.ErrImplausible
	case row.number != t.Number():
		row.record(s, 0)
	case f.mistake == claimForgetsSteps:
		row.step = 0
	}
	if f.mistake == claimReturnsAnOldValue {
		old := row.claimedValue
		row.claimedValue = row.value
		return old, nil
	}
	return row.value, nil
}

// write calls change for the row if the mark admits the stamp.
func (f *fakeFence) write(ctx context.Context, s fencerow.Stamp, r fencerow.Resource, change func(*fakeRow) error) error {
	if ctx.Err() != nil && f.mistake != appliedIsCalledCancelled {
		return ctx.Err()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	row, err := f.find(s, r)
	if err != nil {
		return err
	}
	if err := f.admit(row, s); err != nil {
		return err
	}
	if f.mistake == checkThenWrite {
		f.meet(ctx)
	}
	if err := change(row); err != nil {
		return err
	}
	switch {
	case f.mistake == checkThenCommit && row.number > s.Token().Number():
	case row.number == s.Token().Number():
		row.step = max(row.step, s.Step())
	default:
		row.record(s, s.Step())
	}
	return nil
}

// meet is between the check and the write of a fence that takes two steps for them: the first writer waits there until a second
// one has been checked too.
func (f *fakeFence) meet(ctx context.Context) {
	f.meets++
	if f.meets == 2 {
		close(f.met)
	}
	f.mu.Unlock()
	defer f.mu.Lock()
	select {
	case <-f.met:
	case <-ctx.Done():
	}
}

func (f *fakeFence) admit(row *fakeRow, s fencerow.Stamp) error {
	t := s.Token()
	stale := &fencerow.StaleError{Resource: t.Resource(), Presented: t.Number(), Stored: row.number}
	switch {
	case f.older(t.Number(), row.number):
		if f.mistake == refusalWrites {
			row.number++
		}
		return stale
	case row.number != t.Number():
		if f.features.Claims && f.mistake != claimThatOnlyReads && f.mistake != writeClaims && f.mistake != equalityNotOrder {
			return fencerow.ErrUnclaimed
		}
		return nil
	case f.features.Claims && row.grant != t.GrantID() && f.mistake != grantIsNotCompared && f.mistake != zeroTokenAdmitted:
		return fencerow.ErrTokenReused
	case f.mistake == ownWriteIsStale && row.step > 0:
		return stale
	case f.features.Rewrites:
		return nil
	case !f.features.Steps:
		return fencerow.ErrDuplicate
	case row.step == s.Step() && f.mistake != retryAppliedTwice:
		return fencerow.ErrDuplicate
	case row.step > s.Step() && f.mistake != earlierStepAdmitted:
		return fencerow.ErrOutOfOrder
	}
	return nil
}

// fakeFenceWire is a fence and the way to its store.
type fakeFenceWire struct {
	*fakeFence
	fakeWay

	doubts map[fencerow.Stamp]bool
}

func (f *fakeFence) openWired(context.Context) (fencerowtest.Fence, fencerowtest.Wire, error) {
	w := &fakeFenceWire{fakeFence: f, fakeWay: fakeWay{restored: make(chan struct{})}, doubts: map[fencerow.Stamp]bool{}}
	return w, w, nil
}

func (w *fakeFenceWire) Write(ctx context.Context, s fencerow.Stamp, r fencerow.Resource, value int64) (err error) {
	if w.doubts[s] && w.mistake == doubtIsCalledApplied {
		return nil
	}
	lost := w.send(ctx, func() {
		if w.mistake == lateRequestsAreNotChecked && ctx.Err() != nil {
			w.fakeFence.mu.Lock()
			w.rows[r].value = value
			w.fakeFence.mu.Unlock()
			return
		}
		err = w.fakeFence.Write(context.WithoutCancel(ctx), s, r, value)
	})
	switch {
	case lost == nil:
		return err
	case w.mistake == lostReplyIsRefused:
		return fencerow.ErrRejected
	}
	w.doubts[s] = true
	return fmt.Errorf("%w: %w", fencerow.ErrAmbiguous, lost)
}
