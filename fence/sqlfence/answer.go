package sqlfence

import (
	"fmt"

	"github.com/fencerow/fencerow"
	"github.com/fencerow/fencerow/internal/sqlerr"
)

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
	return fmt.Errorf("sqlfence: %s: %w", what, Refusal(err))
}

// Answer translates an error of the database into the fence's answers: [fencerow.ErrConflict], [fencerow.ErrAmbiguous], what a trigger has
// refused, or a failure. Stands says that the statement's effect would stand by itself, as that of a COMMIT does; a lost connection leaves
// its outcome unknown then. It is for adapters such as fence/pgxfence.
func Answer(what string, err error, stands bool) error {
	if stands {
		return answer(what, err)
	}
	return pending(what, err)
}
