// Package turns lets goroutines in one after the other, by name.
package turns

import (
	"context"
	"sync"
)

// Turns lets the callers that share a name in one after the other, the longest waiting first. The zero value is ready.
type Turns struct {
	mu    sync.Mutex
	names map[string]*turn
}

type turn struct {
	token   chan struct{} // of capacity 1; whoever has put something in has the turn
	callers int
}

// Take waits for the caller's turn and returns how to end it.
func (t *Turns) Take(ctx context.Context, name string) (end func(), err error) {
	t.mu.Lock()
	own, ok := t.names[name]
	if !ok {
		if t.names == nil {
			t.names = make(map[string]*turn)
		}
		own = &turn{token: make(chan struct{}, 1)}
		t.names[name] = own
	}
	own.callers++
	t.mu.Unlock()

	leave := func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if own.callers--; own.callers == 0 {
			delete(t.names, name)
		}
	}
	select {
	case own.token <- struct{}{}:
		return func() { <-own.token; leave() }, nil
	case <-ctx.Done():
		leave()
		return nil, ctx.Err()
	}
}
