package fencerow

import (
	"context"
	"errors"
	"fmt"

	"github.com/fencerow/fencerow/driver"
)

// Handover moves a resource from one lock service to another: it retires the resource at the old one, which grants it to nobody
// from then on, and seeds the new one above every number that the old one has granted. It returns that highest number.
//
// It refuses with [ErrHeld] while a lease of the old service runs, and nothing is changed then. If it fails later, call it again:
// every step may be repeated. Afterwards tokens carry another source. Tell the gates of the resource, and only then start
// workers on the new service:
//
//	above, err := fencerow.Handover(ctx, old, new, "account/42")
//	err = gate.Handover(ctx, "account/42", old.Info().Source, new.Info().Source)
func Handover(ctx context.Context, from, to driver.LockService, resource Resource) (above int64, err error) {
	if err := resource.Validate(); err != nil {
		return 0, err
	}
	source, successor := from.Info().Source, to.Info().Source
	if source == successor {
		return 0, fmt.Errorf("fencerow: hand over %s: both services are the source %s", resource, source)
	}
	retirer, ok := from.(driver.Retirer)
	if !ok {
		return 0, fmt.Errorf("fencerow: hand over %s: the lock service %s cannot retire a resource", resource, source)
	}
	seeder, ok := to.(driver.Seeder)
	if !ok {
		return 0, fmt.Errorf("fencerow: hand over %s: the lock service %s cannot be seeded", resource, successor)
	}
	above, err = retirer.Retire(ctx, string(resource), successor)
	var held *driver.HeldError
	switch {
	case errors.As(err, &held):
		return 0, fmt.Errorf("%w: %s: the lock service %s still grants it; stop its workers first: %w", ErrHeld, resource, source, err)
	case err != nil:
		return 0, fmt.Errorf("fencerow: hand over %s: retire it at %s: %w", resource, source, err)
	}
	if err := seeder.Seed(ctx, string(resource), above); err != nil {
		return 0, fmt.Errorf("fencerow: hand over %s: it is retired at %s, and %s is not seeded yet, call Handover again: %w",
			resource, source, successor, err)
	}
	return above, nil
}
