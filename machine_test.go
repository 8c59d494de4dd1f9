package fencerow

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/fencerow/fencerow/driver"
)

// The schedules below are random: leases are added, renewed with delays and lost replies, frozen and released, in an order
// that the seed decides. After each step the machine's idea of a lease is compared with a model of the lock service.

const schedules = 300

func TestMachineRandomSchedules(t *testing.T) {
	seeds := schedules
	if testing.Short() {
		seeds = 30
	}
	if fixed, err := strconv.ParseUint(os.Getenv("FENCEROW_SEED"), 10, 64); err == nil {
		runSchedule(t, fixed)
		return
	}
	for range seeds {
		seed := rand.Uint64()
		runSchedule(t, seed)
		if t.Failed() {
			t.Fatalf("reproduce with FENCEROW_SEED=%d", seed)
		}
	}
}

func FuzzMachineSchedules(f *testing.F) {
	f.Add(uint64(1))
	f.Fuzz(func(t *testing.T, seed uint64) { runSchedule(t, seed) })
}

// world is the lock service as it really is, and what is under way between it and the machine.
type world struct {
	t       *testing.T
	rng     *rand.Rand
	now     time.Duration
	machine machine
	live    map[*entry]*truth
	added   []*entry // in order, because the order of a map is no part of the seed
	flights []flight
}

type truth struct {
	expires time.Duration // at the service, which never ends a lease before its TTL
	broken  bool          // an operator took it away, which only a renewal can notice
}

// flight is a renewal whose reply has not arrived.
type flight struct {
	e       *entry
	sent    time.Duration
	arrives time.Duration
	err     error
}

func runSchedule(t *testing.T, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 0))
	w := &world{t: t, rng: rng, live: map[*entry]*truth{}}
	w.machine.jitter = rng.Float64
	for range 200 {
		w.step()
		if t.Failed() {
			return
		}
	}
}

func (w *world) step() {
	switch w.rng.IntN(10) {
	case 0, 1:
		w.acquire()
	case 2:
		w.release()
	case 3:
		if e := w.any(); e != nil {
			w.live[e].broken = true
		}
	case 4:
		w.now += time.Duration(w.rng.Int64N(int64(40 * time.Second))) // frozen
	default:
		w.sleepUntilNext()
	}
	w.deliver()
	w.advance()
	w.renew()
	w.check()
}

// acquire adds a lease whose grant took a while to arrive.
func (w *world) acquire() {
	ttl := time.Duration(1+w.rng.IntN(30)) * time.Second
	sent := w.now
	toService := time.Duration(w.rng.Int64N(int64(ttl / 4)))
	w.now += toService + time.Duration(w.rng.Int64N(int64(ttl/4)))
	e := &entry{grant: driver.Grant{Resource: fmt.Sprintf("r/%d", len(w.live)), Number: 1, TTL: ttl}}
	w.live[e] = &truth{expires: sent + toService + ttl}
	w.added = append(w.added, e)
	w.machine.add(e, sent)
}

func (w *world) release() {
	if e := w.any(); e != nil {
		w.machine.remove(e)
		delete(w.live, e)
	}
}

// any returns one of the live leases.
func (w *world) any() *entry {
	w.added = slices.DeleteFunc(w.added, func(e *entry) bool { return w.live[e] == nil })
	if len(w.added) == 0 {
		return nil
	}
	return w.added[w.rng.IntN(len(w.added))]
}

func (w *world) sleepUntilNext() {
	at, ok := w.machine.next()
	if !ok {
		return
	}
	for e := range w.live {
		if e.position >= 0 && at > e.deadline {
			w.t.Errorf("the machine sleeps until %v, past a deadline at %v", at, e.deadline)
		}
	}
	for _, f := range w.flights {
		at = min(at, f.arrives)
	}
	w.now = max(w.now, at)
}

// renew sends what is due. The service answers by the truth at the time when the request reaches it.
func (w *world) renew() {
	for _, e := range w.machine.take(1 + w.rng.IntN(5)) {
		for _, f := range w.flights {
			if f.e == e {
				w.t.Errorf("a lease is renewed twice at once")
			}
		}
		real := w.live[e]
		if real == nil {
			w.t.Errorf("a released or lost lease is renewed")
			continue
		}
		reaches := w.now + time.Duration(w.rng.Int64N(int64(3*time.Second)))
		f := flight{e: e, sent: w.now, arrives: reaches + time.Duration(w.rng.Int64N(int64(3*time.Second)))}
		switch {
		case real.broken || reaches >= real.expires:
			f.err = driver.ErrNotCurrent
		case w.rng.IntN(4) == 0: // the request is lost
			f.err = errors.New("timeout")
		default:
			real.expires = reaches + e.grant.TTL
			if w.rng.IntN(4) == 0 { // the reply is lost
				f.err = errors.New("timeout")
			}
		}
		w.flights = append(w.flights, f)
	}
}

func (w *world) deliver() {
	var later []flight
	for _, f := range w.flights {
		if f.arrives > w.now {
			later = append(later, f)
			continue
		}
		looked := f.e.position >= 0
		lost := w.machine.renewed(f.e, f.sent, w.now, f.err)
		if refused := isNotCurrent(f.err); lost != (refused && looked) {
			w.t.Errorf("the service refused: %v, the lease was live: %v, the machine says lost: %v", refused, looked, lost)
		}
		if lost {
			delete(w.live, f.e)
		}
	}
	w.flights = later
}

func (w *world) advance() {
	for _, e := range w.machine.advance(w.now) {
		if _, ok := w.live[e]; !ok {
			w.t.Errorf("a lease was lost twice, or after its release")
		}
		delete(w.live, e)
	}
}

// check is the promise: what the machine holds for live is live at the service, and a margin remains.
func (w *world) check() {
	for e, real := range w.live {
		if e.position < 0 {
			w.t.Errorf("a live lease was forgotten")
		}
		if real.broken {
			continue
		}
		if real.expires <= w.now {
			w.t.Errorf("at %v the machine holds a lease for live that the service ended at %v", w.now, real.expires)
		}
		if e.deadline > real.expires-e.grant.TTL/marginShare {
			w.t.Errorf("the deadline %v leaves no margin to the service's %v", e.deadline, real.expires)
		}
	}
	if len(w.live) == 0 != w.machine.idle() {
		w.t.Errorf("%d leases are live and idle is %v", len(w.live), w.machine.idle())
	}
}

func TestMachineRenewsEachThirdOfTheTTL(t *testing.T) {
	m := machine{jitter: func() float64 { return 0 }}
	e := &entry{grant: driver.Grant{TTL: 30 * time.Second}}
	m.add(e, 0)
	for round := range 5 {
		at, _ := m.next()
		if want := time.Duration(round+1) * 10 * time.Second; at != want {
			t.Fatalf("renewal %d is due at %v, want %v", round, at, want)
		}
		m.advance(at)
		if got := m.take(10); len(got) != 1 {
			t.Fatalf("%d leases are due", len(got))
		}
		m.renewed(e, at, at+time.Second, nil)
	}
	if e.deadline != 50*time.Second+27*time.Second {
		t.Fatalf("the deadline is %v, want 27 s after the last request was sent", e.deadline)
	}
}

func TestMachineSpreadsRenewals(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	m := machine{jitter: rng.Float64}
	seen := map[time.Duration]bool{}
	for range 100 {
		e := &entry{grant: driver.Grant{TTL: 30 * time.Second}}
		m.add(e, 0)
		if e.renewAt > 10*time.Second || e.renewAt < 9*time.Second {
			t.Fatalf("renewal at %v is not within a tenth of a third of the TTL", e.renewAt)
		}
		seen[e.renewAt] = true
	}
	if len(seen) < 90 {
		t.Fatalf("100 leases taken together renew at %d times only", len(seen))
	}
}
