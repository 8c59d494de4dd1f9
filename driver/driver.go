package driver

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Guarantee says what the token sequence of a service survives.
type Guarantee int

const (
	// Replicated: the sequence is agreed by a majority; it survives the loss of a minority of servers.
	Replicated Guarantee = iota + 1
	// SingleNode: the sequence is durable on one server or host and as safe as its disk and backups.
	SingleNode
	// Async: a failover or crash may forget grants, so that a number is issued again. Refused unless opted in.
	Async
)

// String returns the guarantee's name.
func (g Guarantee) String() string {
	switch g {
	case Replicated:
		return "Replicated"
	case SingleNode:
		return "SingleNode"
	case Async:
		return "Async"
	}
	return fmt.Sprintf("Guarantee(%d)", int(g))
}

// Info is what a service says about itself. It does not change while the service is open.
type Info struct {
	// Source identifies the token sequence: service, keyspace and epoch, 1 to 128 printable ASCII characters. It changes
	// when the sequence starts anew, for example with a new database file; it is the lock_service label in metrics.
	Source string
	// Guarantee is what the sequence survives.
	Guarantee Guarantee
	// TTLUnit is the service's resolution: a TTL must be a whole multiple of it.
	TTLUnit time.Duration
	// MinTTL and MaxTTL bound the TTL that the service accepts. 0 means no bound.
	MinTTL, MaxTTL time.Duration
}

// Request asks for one grant.
type Request struct {
	// Resource is the validated name, to be stored byte for byte.
	Resource string
	// GrantID is a random identity that the caller chose for this attempt. It makes an acquire whose reply was lost
	// resolvable, and renewal and release conditional on the grant.
	GrantID string
	// Holder is for people and never decides anything.
	Holder string
	// TTL is the length of the lease, measured by the service.
	TTL time.Duration
}

// Grant is a lease as the service knows it.
type Grant struct {
	Resource string
	GrantID  string
	// Number is 1 or more. It is 0 in a Release that resolves an acquire whose reply was lost.
	Number int64
	// TTL is what the service applied, which may differ from what was asked.
	TTL time.Duration
}

// LockService is a lock service. All methods are safe for concurrent use.
type LockService interface {
	// Info returns the same answer as long as the service is open, without a round trip.
	Info() Info

	// Acquire grants the resource if it is free or its lease has ended, and returns at once in any case.
	//
	// Atomic: granting and minting the number. Survives: the number, for ever, also a release, an expiry, a crash after
	// the reply and a restart. A repeated request with the GrantID of the lease that still runs returns the same grant
	// with the same number and restarts its TTL. If somebody else holds the resource the error is a [*HeldError]. After any
	// other error but a [*RetiredError] the outcome counts as unknown, and the caller releases by GrantID.
	Acquire(ctx context.Context, r Request) (Grant, error)

	// Renew restarts the TTL of the grant.
	//
	// Atomic: checking that the grant is still the current one and has not ended, and prolonging it. Conditional on the
	// GrantID, never on the name; it never creates anything. A grant that has ended or was followed by another is
	// [ErrNotCurrent], and nothing was changed.
	Renew(ctx context.Context, g Grant, ttl time.Duration) error

	// Release ends the grant so that the next Acquire succeeds at once.
	//
	// Atomic: checking that the grant is still the current one, and ending it. Conditional on the GrantID, never on the
	// name. It never resets or forgets the number. A grant that is not current is [ErrNotCurrent], and nothing was changed;
	// where a service can tell that this very grant was already released and nobody followed, it may return nil.
	Release(ctx context.Context, g Grant) error

	// Close frees what the service holds in this process. It ends no lease and does not close what the caller opened.
	Close() error
}

// ErrNotCurrent means that the grant is not the current one: it ended, was released, or was followed by another.
var ErrNotCurrent = errors.New("driver: grant is not the current one")

// RetiredError says that the resource was handed over to another service.
type RetiredError struct {
	Successor string // the source of the other service
}

// Error names the successor.
func (e *RetiredError) Error() string {
	return fmt.Sprintf("handed over to the lock service %s, which grants it now", e.Successor)
}

// HeldError says that another grant holds the resource. Its fields are hints for people and for the length of a wait.
type HeldError struct {
	Holder    string
	Number    int64         // of the current grant, 0 if unknown
	Remaining time.Duration // until the lease ends if nobody renews it, 0 if unknown
}

// Error names the holder.
func (e *HeldError) Error() string {
	return fmt.Sprintf("held by %q under number %d, %v left of its TTL", e.Holder, e.Number, e.Remaining.Round(time.Millisecond))
}
