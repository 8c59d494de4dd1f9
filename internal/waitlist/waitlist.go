// Package waitlist keeps who waits in this process, so that a message wakes one waiter and not all.
package waitlist

import (
	"slices"
	"sync"
)

// List has the waiters of each name, the longest waiting first. The zero value is empty. It is safe for concurrent use.
type List struct {
	mu     sync.Mutex
	byName map[string][]chan struct{}
}

// Enter adds a waiter. The channel gets a value when it is woken.
func (l *List) Enter(name string) (woken chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.byName == nil {
		l.byName = map[string][]chan struct{}{}
	}
	woken = make(chan struct{}, 1)
	l.byName[name] = append(l.byName[name], woken)
	return woken
}

// Leave removes a waiter. It reports whether the waiter was woken and has not noticed, so that somebody else is to be woken
// instead.
func (l *List) Leave(name string, woken chan struct{}) (unused bool) {
	l.mu.Lock()
	left := slices.DeleteFunc(l.byName[name], func(c chan struct{}) bool { return c == woken })
	if len(left) == 0 {
		delete(l.byName, name)
	} else {
		l.byName[name] = left
	}
	l.mu.Unlock()
	select {
	case <-woken:
		return true
	default:
		return false
	}
}

// Waiting reports whether anybody waits.
func (l *List) Waiting(name string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.byName[name]) > 0
}

// Wake wakes the first waiter, which then counts as gone, and says whether there was one and whether there are more.
func (l *List) Wake(name string) (woke, more bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	waiting := l.byName[name]
	if len(waiting) == 0 {
		return false, false
	}
	waiting[0] <- struct{}{}
	if len(waiting) == 1 {
		delete(l.byName, name)
		return true, false
	}
	l.byName[name] = waiting[1:]
	return true, true
}
