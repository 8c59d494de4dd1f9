package fence

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/fencerow/fencerow"
)

func TestResolve(t *testing.T) {
	stale := &fencerow.StaleError{Resource: "account/42", Presented: 1, Stored: 2}
	boom := errors.New("boom")
	caller := &callerError{boom}
	for name, c := range map[string]struct {
		answers    []error
		unrecorded bool
		want       error   // nil: applied
		also       error   // that the answer must be as well
		not        []error // that the answer must not be
		sent       int
	}{
		"applied":                           {answers: []error{nil}, sent: 1},
		"refused":                           {answers: []error{stale}, want: fencerow.ErrStale, not: []error{fencerow.ErrAmbiguous}, sent: 1},
		"conflict, then applied":            {answers: []error{fencerow.ErrConflict, fencerow.ErrConflict, nil}, sent: 3},
		"conflict, then refused":            {answers: []error{fencerow.ErrConflict, stale}, want: fencerow.ErrStale, not: []error{fencerow.ErrAmbiguous}, sent: 2},
		"conflict, then duplicate":          {answers: []error{fencerow.ErrConflict, fencerow.ErrDuplicate}, want: fencerow.ErrDuplicate, sent: 2},
		"conflicts without end":             {answers: []error{fencerow.ErrConflict}, want: fencerow.ErrConflict, not: []error{fencerow.ErrAmbiguous}, sent: maxAttempts},
		"lost, then applied":                {answers: []error{fencerow.ErrAmbiguous, nil}, sent: 2},
		"lost, then found":                  {answers: []error{fencerow.ErrAmbiguous, fencerow.ErrDuplicate}, sent: 2},
		"lost twice, then found":            {answers: []error{fencerow.ErrAmbiguous, fencerow.ErrConflict, fencerow.ErrAmbiguous, fencerow.ErrDuplicate}, sent: 4},
		"lost, then stale":                  {answers: []error{fencerow.ErrAmbiguous, stale}, want: fencerow.ErrAmbiguous, also: fencerow.ErrStale, sent: 2},
		"lost, then rejected":               {answers: []error{fencerow.ErrAmbiguous, fencerow.ErrRejected}, want: fencerow.ErrAmbiguous, also: fencerow.ErrRejected, sent: 2},
		"lost, then the function failed":    {answers: []error{fencerow.ErrAmbiguous, caller}, want: fencerow.ErrAmbiguous, also: boom, sent: 2},
		"lost without end":                  {answers: []error{fencerow.ErrAmbiguous}, want: fencerow.ErrAmbiguous, sent: maxAttempts},
		"lost, then conflicts without end":  {answers: []error{fencerow.ErrAmbiguous, fencerow.ErrConflict}, want: fencerow.ErrAmbiguous, sent: maxAttempts},
		"the function failed":               {answers: []error{caller}, want: boom, sent: 1},
		"the function says duplicate":       {answers: []error{fencerow.ErrAmbiguous, &callerError{fencerow.ErrDuplicate}}, want: fencerow.ErrAmbiguous, sent: 2},
		"the function says ambiguous":       {answers: []error{&callerError{fencerow.ErrAmbiguous}}, want: fencerow.ErrAmbiguous, sent: 1},
		"unrecorded: lost":                  {answers: []error{fencerow.ErrAmbiguous, nil}, unrecorded: true, want: fencerow.ErrAmbiguous, sent: 1},
		"unrecorded: conflict, then fine":   {answers: []error{fencerow.ErrConflict, nil}, unrecorded: true, sent: 2},
		"unrecorded: conflict, then a loss": {answers: []error{fencerow.ErrConflict, fencerow.ErrAmbiguous, nil}, unrecorded: true, want: fencerow.ErrAmbiguous, sent: 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				sent := 0
				err := Resolve(t.Context(), !c.unrecorded, func() error {
					sent++
					return c.answers[min(sent, len(c.answers))-1]
				})
				if c.want == nil && err != nil || !errors.Is(err, c.want) || (c.also != nil && !errors.Is(err, c.also)) {
					t.Errorf("the answer is %v, want %v and %v", err, c.want, c.also)
				}
				for _, not := range c.not {
					if errors.Is(err, not) {
						t.Errorf("the answer %v is also %v", err, not)
					}
				}
				if sent != c.sent {
					t.Errorf("sent %d times, want %d", sent, c.sent)
				}
			})
		})
	}
}

func TestResolveEndsWithTheContext(t *testing.T) {
	for _, answer := range []error{fencerow.ErrConflict, fencerow.ErrAmbiguous} {
		ctx, cancel := context.WithCancel(t.Context())
		sent := 0
		err := Resolve(ctx, true, func() error {
			sent++
			if sent == 2 {
				cancel()
			}
			return fmt.Errorf("%w: attempt %d", answer, sent)
		})
		if !errors.Is(err, answer) || sent != 2 {
			t.Errorf("%v after %d attempts", err, sent)
		}
		cancel()
	}
}
