package fencerow

import (
	"errors"
	"fmt"
)

// Conditions of the issuing side. Test for them with errors.Is.
var (
	// ErrHeld means that another holder has the resource. Wait, or come back later.
	ErrHeld = errors.New("fencerow: resource is held by another holder")
	// ErrLost means that the lease is gone: not renewed in time, taken over, or refused by a resource. Stop the work.
	ErrLost = errors.New("fencerow: lease is lost")
	// ErrReleased means that the lease was given up by its holder.
	ErrReleased = errors.New("fencerow: lease was released")
	// ErrRegressed means that the lock service has issued a number that is not above all before it: it has lost state in a
	// fail-over or a restore. The grant was given back. [Locker.Repair] raises the service above the mark.
	ErrRegressed = errors.New("fencerow: lock service has lost state and issues old numbers")
	// ErrRetired means that the resource was handed over to another lock service; see [Handover]. Use that one.
	ErrRetired = errors.New("fencerow: resource was handed over to another lock service")
	// ErrClosed means that the Locker was closed.
	ErrClosed = errors.New("fencerow: locker is closed")
	// ErrInvalidResource means a resource name that cannot be stored everywhere; see [Resource.Validate].
	ErrInvalidResource = errors.New("fencerow: invalid resource name")
	// ErrInvalidToken means text or parts that no token has; see [ParseToken].
	ErrInvalidToken = errors.New("fencerow: invalid token")
)

// Answers of a resource. Each says whether the write was applied; [VerdictOf] maps them to words.
var (
	// ErrNoToken means that no token was presented: a zero Token or Stamp. Nothing was written.
	ErrNoToken = errors.New("fencerow: no token was presented")
	// ErrMismatch means a token of another resource or another source than the one that the resource follows. Nothing
	// was written. Two sources for one resource must be migrated by seeding, never mixed.
	ErrMismatch = errors.New("fencerow: token belongs elsewhere")
	// ErrStale means that the resource has seen a newer grant. Nothing was written. Stop everything under this grant and
	// never retry it: what was read under it is no longer true. [*StaleError] has the numbers.
	ErrStale = errors.New("fencerow: token is stale")
	// ErrDuplicate means that the resource has already recorded this stamp. Nothing was written now. On a table with a
	// step column an earlier attempt of the same operation was applied; without one, this grant has used its one write.
	ErrDuplicate = errors.New("fencerow: stamp was already applied")
	// ErrOutOfOrder means that the same grant has already written a later step. Nothing was written: a delayed copy, or
	// two goroutines that share one chain of steps.
	ErrOutOfOrder = errors.New("fencerow: a later step of the same grant was already applied")
	// ErrUnclaimed means that the resource requires a claim and this grant has not made it. Nothing was written. Claim,
	// then read again, then write.
	ErrUnclaimed = errors.New("fencerow: grant has not claimed the resource")
	// ErrMissing means that the row, item or object does not exist. Nothing was written.
	ErrMissing = errors.New("fencerow: target does not exist")
	// ErrRejected means that the fence admitted the write and your own condition did not hold. Nothing was written.
	ErrRejected = errors.New("fencerow: rejected by the caller's own condition")
	// ErrConflict means that the store could not serialize the write just now: a deadlock, a serialization failure, a
	// busy database. Nothing was written. Retry with the same stamp.
	ErrConflict = errors.New("fencerow: conflict in the store, retry with the same stamp")
	// ErrAmbiguous means that the outcome is unknown: the connection went away before the answer. Send the same stamp
	// again until the answer is definite.
	ErrAmbiguous = errors.New("fencerow: outcome is unknown, send the same stamp again")
	// ErrUnfenced means that the target carries no mark to compare with, such as a NULL in the token column. Nothing was
	// written; a fence that cannot compare fails closed.
	ErrUnfenced = errors.New("fencerow: target has no fence")
	// ErrTokenReused means that the same number was issued to another grant, whose claim was accepted first. Nothing was
	// written. The token source has lost state; seed it above the resource's mark.
	ErrTokenReused = errors.New("fencerow: token number was issued twice")
	// ErrImplausible means a number so far above the resource's mark that the resource takes it for a mistake, such as a
	// timestamp. Nothing was written. See the MaxJump option of the fences.
	ErrImplausible = errors.New("fencerow: token number is implausibly far above the mark")
)

// StaleError is the detail of [ErrStale].
type StaleError struct {
	Resource  Resource
	Presented int64 // the number that was refused
	Stored    int64 // the newer number that the resource has seen
}

// Error names the resource and both numbers.
func (e *StaleError) Error() string {
	return fmt.Sprintf("fencerow: token %d of %s is stale, the resource has seen %d; stop the work of this grant",
		e.Presented, e.Resource, e.Stored)
}

// Is makes errors.Is(err, ErrStale) true.
func (e *StaleError) Is(target error) bool { return target == ErrStale }
