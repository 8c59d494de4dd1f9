package fencerowtest_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/fencerow/fencerow"
	"github.com/fencerow/fencerow/fencerowtest"
)

// fakeFence is a small fence with room for one planted mistake. The kit must find each, and find nothing in the fence without
// one.
type fakeFence struct {
	mistake string

	mu   sync.Mutex
	rows map[fencerow.Resource]*fakeRow
	// meet is where two writers wait for each other between check and write, so that the mistake does not need luck.
	meet chan struct{}
}

type fakeRow struct {
	value, number, step int64
	grant               string
}

const (
	checkThenWrite      = "check then write"
	equalityNotOrder    = "equality instead of order"
	laxClaim            = "lax claim"
	claimThatOnlyReads  = "no claim: it only reads"
	claimForgetsSteps   = "claim forgets the steps"
	claimByFirstWrite   = "write claims by itself"
	zeroRowsIsStale     = "zero rows is stale"
	retryAppliedTwice   = "retry applied twice"
	floatNumbers        = "numbers as floats"
	textNumbers         = "numbers as text"
	anyResource         = "token of any resource"
	zeroTokenAdmitted   = "zero token admitted"
	refusalWrites       = "refused write raises the mark"
	ownWriteIsStale     = "own second write is stale"
	staleIsForgotten    = "stale answer does not reach the lease"
	grantIsNotCompared  = "grant is not compared"
	earlierStepAdmitted = "earlier step admitted"
)

func TestKitFindsNothingInTheCorrectFence(t *testing.T) {
	if report := fencerowtest.CheckFence(t.Context(), fakeFenceHarness("")); len(report.Violations()) > 0 {
		t.Fatalf("the kit accuses a correct fence:\n%s", report)
	}
}

func TestKitFindsEachMistakeOfAFence(t *testing.T) {
	for mistake, caught := range map[string]string{
		checkThenWrite:      "racing-retries-are-applied-once",
		equalityNotOrder:    "older-refused-after-write",
		laxClaim:            "claim-is-strict",
		claimThatOnlyReads:  "no-update-is-lost",
		claimForgetsSteps:   "claim-may-be-repeated",
		claimByFirstWrite:   "write-needs-claim",
		zeroRowsIsStale:     "missing-is-not-stale",
		retryAppliedTwice:   "stamp-is-applied-once",
		floatNumbers:        "numbers-are-exact",
		textNumbers:         "numbers-are-exact",
		anyResource:         "foreign-resource-refused",
		zeroTokenAdmitted:   "stamp-is-required",
		refusalWrites:       "refusal-leaves-no-trace",
		ownWriteIsStale:     "grant-writes-many-times",
		staleIsForgotten:    "stale-cancels-the-lease",
		grantIsNotCompared:  "claim-is-strict",
		earlierStepAdmitted: "steps-stay-in-order",
	} {
		t.Run(mistake, func(t *testing.T) {
			t.Parallel()
			report := fencerowtest.CheckFence(t.Context(), fakeFenceHarness(mistake), caught)
			if len(report.Violations()) != 1 {
				t.Fatalf("the case %s does not find it:\n%s", caught, report)
			}
			t.Log(report.Violations()[0].Detail)
		})
	}
}

func fakeFenceHarness(mistake string) fencerowtest.FenceHarness {
	f := &fakeFence{mistake: mistake, rows: map[fencerow.Resource]*fakeRow{}, meet: make(chan struct{})}
	return fencerowtest.FenceHarness{
		Name: "fake",
		Open: func(context.Context) (fencerowtest.Fence, error) { return f, nil },
		NewResource: func(ctx context.Context) (fencerow.Resource, error) {
			r, err := newName(ctx)
			f.mu.Lock()
			defer f.mu.Unlock()
			f.rows[r] = &fakeRow{}
			return r, err
		},
		Features: fencerowtest.Features{Claims: true, Steps: true, Missing: true},
	}
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
	return value, f.settle(ctx, s, err)
}

func (f *fakeFence) Write(ctx context.Context, s fencerow.Stamp, r fencerow.Resource, value int64) error {
	return f.settle(ctx, s, f.write(s, r, value))
}

func (f *fakeFence) settle(ctx context.Context, s fencerow.Stamp, err error) error {
	if f.mistake == staleIsForgotten {
		return err
	}
	return s.Settle(ctx, nil, fencerow.Write, err)
}

// find checks the stamp and returns the row.
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
	case row != nil:
		return row, nil
	case f.mistake == zeroRowsIsStale:
		return nil, &fencerow.StaleError{Resource: r, Presented: s.Token().Number(), Stored: s.Token().Number() + 1}
	}
	return nil, fencerow.ErrMissing
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
	case f.older(t.Number(), row.number):
		return 0, &fencerow.StaleError{Resource: r, Presented: t.Number(), Stored: row.number}
	case row.number == t.Number() && row.grant != t.GrantID():
		if f.mistake != laxClaim && f.mistake != grantIsNotCompared {
			return 0, fencerow.ErrTokenReused
		}
		row.grant = t.GrantID()
	case row.number != t.Number():
		row.number, row.grant, row.step = t.Number(), t.GrantID(), 0
	case f.mistake == claimForgetsSteps:
		row.step = 0
	}
	return row.value, nil
}

func (f *fakeFence) write(s fencerow.Stamp, r fencerow.Resource, value int64) error {
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
		f.mu.Unlock() // the write is a statement of its own
		select {
		case f.meet <- struct{}{}:
		case <-f.meet:
		case <-time.After(100 * time.Millisecond): // no other writer comes
		}
		f.mu.Lock()
	}
	row.value, row.step = value, max(row.step, s.Step())
	if f.mistake == claimThatOnlyReads || f.mistake == claimByFirstWrite {
		row.number, row.grant, row.step = s.Token().Number(), s.Token().GrantID(), s.Step()
	}
	return nil
}

func (f *fakeFence) admit(row *fakeRow, s fencerow.Stamp) error {
	t := s.Token()
	switch {
	case f.older(t.Number(), row.number):
		if f.mistake == refusalWrites {
			row.number++
		}
		return &fencerow.StaleError{Resource: t.Resource(), Presented: t.Number(), Stored: row.number}
	case row.number != t.Number():
		if f.mistake == claimThatOnlyReads || f.mistake == claimByFirstWrite || f.mistake == equalityNotOrder {
			return nil
		}
		return fencerow.ErrUnclaimed
	case row.grant != t.GrantID() && f.mistake != grantIsNotCompared && f.mistake != zeroTokenAdmitted:
		return fencerow.ErrTokenReused
	case f.mistake == ownWriteIsStale && row.step > 0:
		return &fencerow.StaleError{Resource: t.Resource(), Presented: t.Number(), Stored: row.number}
	case row.step == s.Step() && f.mistake != retryAppliedTwice:
		return fencerow.ErrDuplicate
	case row.step > s.Step() && f.mistake != earlierStepAdmitted:
		return fencerow.ErrOutOfOrder
	}
	return nil
}
