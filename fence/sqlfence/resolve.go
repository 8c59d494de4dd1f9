package sqlfence

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fencerow/fencerow"
	"github.com/fencerow/fencerow/internal/sqlerr"
)

// maxAttempts bounds how often one operation is sent. Conflicts of a healthy database end sooner.
const maxAttempts = 10

// resolve sends an operation with the same stamp until the answer is definite. An attempt returns ErrConflict or
// ErrAmbiguous for what may be sent again. Where the table records no steps, a repeated write could be applied twice, and an
// ambiguous answer stays one.
func resolve(ctx context.Context, recorded bool, attempt func() error) error {
	inDoubt := false // whether an earlier attempt may have been applied
	for n := 1; ; n++ {
		err := attempt()
		switch verdict := fencerow.VerdictOf(err); {
		case err == nil:
			return nil
		case verdict == fencerow.Ambiguous:
			inDoubt = true
		case verdict == fencerow.Conflict:
		case inDoubt && verdict == fencerow.Duplicate && recorded:
			return nil // it was applied, and the answer was lost
		case inDoubt:
			return doubtful(unwrapCaller(err))
		default:
			return unwrapCaller(err)
		}
		if n == maxAttempts || (inDoubt && !recorded) || !pause(ctx, n) {
			if inDoubt {
				return doubtful(err)
			}
			return err
		}
	}
}

// callerError is an error of the caller's function. It has no Unwrap: what it says is not about this operation, and must not
// be taken for the fence's answer.
type callerError struct{ err error }

func (e *callerError) Error() string { return e.err.Error() }

func unwrapCaller(err error) error {
	var e *callerError
	if errors.As(err, &e) {
		return e.err
	}
	return err
}

// doubtful marks an answer that came after an attempt whose own answer was lost.
func doubtful(err error) error {
	if errors.Is(err, fencerow.ErrAmbiguous) {
		return err
	}
	return fmt.Errorf("%w; an earlier attempt may have been applied, this one was not: %w", fencerow.ErrAmbiguous, err)
}

// pause waits before the next attempt; it returns false if ctx ends first.
func pause(ctx context.Context, n int) bool {
	if ctx.Err() != nil {
		return false
	}
	timer := time.NewTimer(min(time.Millisecond<<n, 200*time.Millisecond))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// answer translates an error of the database for a statement or commit whose effect would stand by itself.
func answer(what string, err error) error {
	switch sqlerr.Of(err) {
	case sqlerr.Conflict:
		return fmt.Errorf("%w: %s: %w", fencerow.ErrConflict, what, err)
	case sqlerr.Unknown:
		return fmt.Errorf("%w: %s: %w", fencerow.ErrAmbiguous, what, err)
	}
	return refused(what, err)
}

// pending translates an error of the database for a statement in a transaction that is not committed: whatever happened,
// nothing stands.
func pending(what string, err error) error {
	if sqlerr.Of(err) == sqlerr.Conflict {
		return fmt.Errorf("%w: %s: %w", fencerow.ErrConflict, what, err)
	}
	return refused(what, err)
}

func refused(what string, err error) error {
	if sqlerr.ReadOnly(err) {
		return fmt.Errorf("sqlfence: %s: the database accepts no writes; use the primary: %w", what, err)
	}
	return fmt.Errorf("sqlfence: %s: %w", what, err)
}
