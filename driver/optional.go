package driver

import (
	"context"
	"time"
)

// Queuer is implemented by services that keep a queue of waiters.
type Queuer interface {
	// AcquireQueued waits until the resource is granted, in the order of arrival, or until ctx ends. It keeps the
	// contract of [LockService.Acquire], also for a request that is repeated: with the GrantID of the lease that still runs
	// it returns the same grant at once. A waiter that leaves for any reason leaves nothing in the queue, and one whose session
	// with the service has ended returns an error at once.
	AcquireQueued(ctx context.Context, r Request) (Grant, error)
}

// Waiter is implemented by services that can signal a change.
type Waiter interface {
	// Wait returns nil when the resource may have become free. It is a hint: the caller tries again, and also tries
	// without being woken, because a signal can be lost.
	Wait(ctx context.Context, resource string) error
}

// BatchRenewer is implemented by services that can renew many grants in one request.
type BatchRenewer interface {
	// RenewMany renews each grant under the contract of [LockService.Renew] and returns one result for each, in order.
	// One refused grant does not keep the others from being renewed. The error means that the outcome of all is unknown.
	RenewMany(ctx context.Context, grants []Grant, ttl time.Duration) ([]error, error)
}

// Seeder is implemented by services whose counter can be raised.
type Seeder interface {
	// Seed makes every later grant of the resource carry a number above the given one. It only ever raises: a lower
	// value changes nothing and is no error. Atomic with concurrent acquires, durable like a grant; a running lease stays.
	Seed(ctx context.Context, resource string, above int64) error
}

// Retirer is implemented by services that can give a resource up for another service.
type Retirer interface {
	// Retire makes every later Acquire of the resource a [*RetiredError] and returns a number that no grant so far exceeds.
	// Atomic: checking that no lease runs and nobody waits, and retiring. While one runs it changes nothing and the error is a
	// [*HeldError]. Durable like a grant. It may be repeated with the same successor; with another one it is a *RetiredError.
	Retire(ctx context.Context, resource, successor string) (highest int64, err error)
}

// Inspector is implemented by services that can show a resource's state.
type Inspector interface {
	// Inspect returns what the service stores, read from the same place that decides about grants.
	Inspect(ctx context.Context, resource string) (State, error)
}

// State is what a service stores about a resource.
type State struct {
	// Number is that of the running lease. If none runs no grant so far carries a greater number and every later one does: the
	// highest number granted or seeded, or the position of a sequence that the resource shares with others.
	Number    int64
	Held      bool          // whether a lease runs
	GrantID   string        // of the running lease
	Holder    string        // of the running lease
	RetiredTo string        // the source that the resource was handed over to, empty if it was not
	Remaining time.Duration // of the running lease, by the service's clock; 0 if it cannot tell
}
