package waitlist

import "testing"

func TestWakesOneAfterTheOther(t *testing.T) {
	var l List
	a, b := l.Enter("x"), l.Enter("x")
	l.Enter("y")
	if woke, more := l.Wake("x"); !woke || !more || len(a) != 1 || len(b) != 0 {
		t.Errorf("first: %v, %v, a has %d, b %d", woke, more, len(a), len(b))
	}
	if woke, more := l.Wake("x"); !woke || more || len(b) != 1 {
		t.Errorf("second: %v, %v, b has %d", woke, more, len(b))
	}
	if woke, more := l.Wake("x"); woke || more {
		t.Errorf("nobody is left: %v, %v", woke, more)
	}
}

func TestLeaving(t *testing.T) {
	var l List
	a, b := l.Enter("x"), l.Enter("x")
	if l.Leave("x", a) {
		t.Error("a was not woken")
	}
	if woke, more := l.Wake("x"); !woke || more || len(b) != 1 {
		t.Errorf("%v, %v, b has %d", woke, more, len(b))
	}
	if !l.Leave("x", b) {
		t.Error("b was woken and has not noticed")
	}
	if woke, _ := l.Wake("x"); woke || len(l.byName) != 0 {
		t.Errorf("left behind: %v", l.byName)
	}
}
