package fencerow

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/fencerow/fencerow/driver"
)

// HighWater keeps the highest number that was granted of each resource in a place that does not lose it together with the lock
// service: beside the protected data, in a file, in another service. Package highwater has stores. With one in its
// options a [Locker] notices a lock service that has lost state.
//
// Implementations are safe for concurrent use. What they have confirmed survives a crash.
type HighWater interface {
	// Raise makes number the mark of the resource if it is greater than the one stored, in one atomic step, and reports
	// whether it did. It returns the mark stored after the call. Marks never go down.
	Raise(ctx context.Context, source string, resource Resource, number int64) (mark int64, raised bool, err error)
	// Mark returns the mark of the resource, 0 if there is none.
	Mark(ctx context.Context, source string, resource Resource) (int64, error)
	// Highest returns the highest mark of all resources of the source, 0 if there is none.
	Highest(ctx context.Context, source string) (int64, error)
}

// RegressedError is the detail of [ErrRegressed].
type RegressedError struct {
	Source   string
	Resource Resource
	Number   int64 // that was granted now and refused
	Mark     int64 // the highest number that was granted before
}

// Error names the resource, both numbers and the remedy.
func (e *RegressedError) Error() string {
	return fmt.Sprintf("fencerow: %s granted number %d of %s after number %d: it has lost state; raise it with Locker.Repair",
		e.Source, e.Number, e.Resource, e.Mark)
}

// Is makes errors.Is(err, ErrRegressed) true.
func (e *RegressedError) Is(target error) bool { return target == ErrRegressed }

// checkMark refuses a grant whose number is not above all before it.
func (lk *Locker) checkMark(ctx context.Context, t Token, grant driver.Grant) error {
	if lk.opts.HighWater == nil {
		return nil
	}
	mark, raised, err := lk.opts.HighWater.Raise(ctx, t.source, t.resource, t.number)
	switch {
	case err != nil:
		return fmt.Errorf("fencerow: the high-water mark of %s cannot be raised, so the grant is given back: %w", t.resource, err)
	case raised:
		return nil
	}
	// A successor may have been granted and have raised the mark before this grant came to it. Only if the grant is still the
	// current one, nobody was granted after it and the numbers went back.
	switch err := lk.svc.Renew(ctx, grant, lk.opts.TTL); {
	case isNotCurrent(err):
		return fmt.Errorf("%w: %s: a newer grant has the number %d", ErrLost, t, mark)
	case err != nil:
		return fmt.Errorf("fencerow: acquire %s: the high-water mark is %d, and whether a newer grant is the reason is unknown: %w", t, mark, err)
	}
	lk.opts.Observer.regressed(ctx, t, mark)
	return &RegressedError{Source: t.source, Resource: t.resource, Number: t.number, Mark: mark}
}

// Repair raises the lock service above the resource's high-water mark, after it has lost state. It never lowers anything and
// may be called at any time. It needs [Options.HighWater], and a lock service that can be seeded.
func (lk *Locker) Repair(ctx context.Context, resource Resource) error {
	if err := resource.Validate(); err != nil {
		return err
	}
	if lk.opts.HighWater == nil {
		return errors.New("fencerow: repair: there is no high-water store in the Locker's options")
	}
	seeder, ok := lk.svc.(driver.Seeder)
	if !ok {
		return fmt.Errorf("fencerow: repair: the lock service %s cannot be seeded", lk.info.Source)
	}
	mark, err := lk.opts.HighWater.Mark(ctx, lk.info.Source, resource)
	if err == nil && mark == math.MaxInt64 {
		err = errors.New("the mark is the greatest number that there is")
	}
	if err == nil {
		err = seeder.Seed(ctx, string(resource), mark)
	}
	if err != nil {
		return fmt.Errorf("fencerow: repair %s of %s: %w", resource, lk.info.Source, err)
	}
	return nil
}
