package memfence

import (
	"context"
	"fmt"
	"sync"

	"github.com/fencerow/fencerow"
)

// Store holds one fenced value of type V per resource. The zero value of V stands for what was never written. It is safe for
// concurrent use.
type Store[V any] struct {
	observer *fencerow.Observer

	mu    sync.Mutex
	cells map[fencerow.Resource]*cell[V]
}

// cell is never removed: its mark must not be forgotten.
type cell[V any] struct {
	value  V
	number int64
	step   int64
	grant  string
	source string
}

// New returns an empty store. The observer, which may be nil, is told every answer.
func New[V any](observer *fencerow.Observer) *Store[V] {
	return &Store[V]{observer: observer, cells: make(map[fencerow.Resource]*cell[V])}
}

// Claim raises the mark of a resource to the stamp's token and returns the value. From then on no older holder's write is
// accepted. The same grant may claim again. The errors are [fencerow.ErrStale], [fencerow.ErrTokenReused],
// [fencerow.ErrMismatch] and [fencerow.ErrNoToken].
func (s *Store[V]) Claim(ctx context.Context, stamp fencerow.Stamp, resource fencerow.Resource) (V, error) {
	value, err := s.claim(stamp, resource)
	return value, stamp.Settle(ctx, s.observer, fencerow.Claim, err)
}

func (s *Store[V]) claim(stamp fencerow.Stamp, resource fencerow.Resource) (value V, err error) {
	if err := stamp.Check(resource); err != nil {
		return value, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	token := stamp.Token()
	c, ok := s.cells[resource]
	if !ok {
		c = &cell[V]{source: token.Source()}
		s.cells[resource] = c
	}
	if err := c.owner(token); err != nil {
		return value, err
	}
	if c.number < token.Number() {
		c.number, c.grant, c.step = token.Number(), token.GrantID(), 0
	}
	return c.value, nil
}

// Write replaces the value of a resource by what change returns for it, once for each stamp. The grant must have claimed. If
// change returns an error nothing is written and the error is returned. Other errors are [fencerow.ErrStale],
// [fencerow.ErrDuplicate], [fencerow.ErrOutOfOrder], [fencerow.ErrUnclaimed], [fencerow.ErrTokenReused],
// [fencerow.ErrMismatch] and [fencerow.ErrNoToken].
func (s *Store[V]) Write(ctx context.Context, stamp fencerow.Stamp, resource fencerow.Resource, change func(V) (V, error)) error {
	return stamp.Settle(ctx, s.observer, fencerow.Write, s.write(stamp, resource, change))
}

func (s *Store[V]) write(stamp fencerow.Stamp, resource fencerow.Resource, change func(V) (V, error)) error {
	if err := stamp.Check(resource); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	token := stamp.Token()
	c, ok := s.cells[resource]
	if !ok {
		return unclaimed(token, 0)
	}
	if err := c.owner(token); err != nil {
		return err
	}
	switch {
	case c.number < token.Number():
		return unclaimed(token, c.number)
	case c.step == stamp.Step():
		return fmt.Errorf("%w: %s", fencerow.ErrDuplicate, stamp)
	case c.step > stamp.Step():
		return fmt.Errorf("%w: %s comes after step %d", fencerow.ErrOutOfOrder, stamp, c.step)
	}
	value, err := change(c.value)
	if err != nil {
		return err
	}
	c.value, c.step = value, stamp.Step()
	return nil
}

// Load returns the value of a resource for people and tests. What it returns may be superseded; a holder reads by Claim.
func (s *Store[V]) Load(resource fencerow.Resource) (value V, number int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c, ok := s.cells[resource]; ok {
		return c.value, c.number
	}
	return value, 0
}

// owner returns why the mark refuses the token, or nil if the token is the mark's or newer.
func (c *cell[V]) owner(token fencerow.Token) error {
	switch {
	case c.source != token.Source():
		return fmt.Errorf("%w: %s follows the source %s, the token is of %s", fencerow.ErrMismatch, token.Resource(), c.source, token.Source())
	case c.number > token.Number():
		return &fencerow.StaleError{Resource: token.Resource(), Presented: token.Number(), Stored: c.number}
	case c.number == token.Number() && c.grant != token.GrantID():
		return fmt.Errorf("%w: number %d of %s belongs to the grant %s", fencerow.ErrTokenReused, token.Number(), token.Resource(), c.grant)
	}
	return nil
}

func unclaimed(token fencerow.Token, stored int64) error {
	return fmt.Errorf("%w: %s stores %d, the grant is %d", fencerow.ErrUnclaimed, token.Resource(), stored, token.Number())
}
