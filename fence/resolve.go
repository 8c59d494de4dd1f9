package fence

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fencerow/fencerow"
)

// maxAttempts bounds how often one operation is sent. Conflicts of a healthy store end sooner.
const maxAttempts = 10

// Resolve sends an operation with the same stamp until the answer is definite, within the context's time. An attempt returns
// [fencerow.ErrConflict] or [fencerow.ErrAmbiguous] for what may be sent again. What could not be resolved is
// [fencerow.ErrAmbiguous].
//
// Recorded says that the resource records the stamp, so that a duplicate after a lost answer proves that the write was applied.
// Where it does not, a repeated write could be applied twice, and an ambiguous answer is returned at once.
func Resolve(ctx context.Context, recorded bool, attempt func() error) error {
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

// OfCaller wraps an error of the caller's own code for [Resolve], which returns it as it was: what it says is not about this
// operation, and must not be taken for the resource's answer.
func OfCaller(err error) error {
	if err == nil {
		return nil
	}
	return &callerError{err}
}

// callerError has no Unwrap, on purpose.
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
