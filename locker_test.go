package fencerow

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fencerow/fencerow/driver"
)

// double is a lock service whose answers the test decides. A real one cannot be told to lose a reply at a given moment.
type double struct {
	info    driver.Info
	acquire func(context.Context, driver.Request) (driver.Grant, error)
	renew   func(context.Context, driver.Grant) error
	release func(context.Context, driver.Grant) error

	mu    sync.Mutex
	calls []string
}

func newDouble() *double {
	number := int64(0)
	return &double{
		info: driver.Info{Source: "double:1", Guarantee: driver.SingleNode, TTLUnit: time.Millisecond, MinTTL: 10 * time.Millisecond, MaxTTL: time.Hour},
		acquire: func(_ context.Context, r driver.Request) (driver.Grant, error) {
			number++
			return driver.Grant{Resource: r.Resource, GrantID: r.GrantID, Number: number, TTL: r.TTL}, nil
		},
		renew:   func(context.Context, driver.Grant) error { return nil },
		release: func(context.Context, driver.Grant) error { return nil },
	}
}

func (d *double) note(call string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.calls = append(d.calls, call)
}

func (d *double) count(call string) (n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, c := range d.calls {
		if strings.HasPrefix(c, call) {
			n++
		}
	}
	return n
}

func (d *double) Info() driver.Info { return d.info }
func (d *double) Close() error      { d.note("close"); return nil }
func (d *double) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	d.note("acquire")
	return d.acquire(ctx, r)
}

func (d *double) Renew(ctx context.Context, g driver.Grant, _ time.Duration) error {
	d.note("renew begins")
	defer d.note("renew ends")
	return d.renew(ctx, g)
}

func (d *double) Release(ctx context.Context, g driver.Grant) error {
	d.note("release " + g.GrantID)
	return d.release(ctx, g)
}

// open returns a Locker whose clock is the bubble's, plus what suspended adds to it.
func open(t *testing.T, svc driver.LockService, opts *Options) (*Locker, *time.Duration) {
	t.Helper()
	start, suspended := time.Now(), new(time.Duration)
	var mu sync.Mutex
	ids := 0
	now := func() time.Duration {
		mu.Lock()
		defer mu.Unlock()
		return time.Since(start) + *suspended
	}
	newID := func() string { mu.Lock(); defer mu.Unlock(); ids++; return fmt.Sprintf("g%d", ids) }
	lk, err := newLocker(svc, opts, now, newID, func() float64 { return 0.5 })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = lk.Close() })
	return lk, suspended
}

func acquire(t *testing.T, lk *Locker) *Lease {
	t.Helper()
	lease, err := lk.Acquire(t.Context(), "account/42")
	if err != nil {
		t.Fatal(err)
	}
	return lease
}

func isDone(l *Lease) bool {
	select {
	case <-l.Done():
		return true
	default:
		return false
	}
}

func TestLeaseIsRenewedAndKeepsItsToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		svc := newDouble()
		lk, _ := open(t, svc, nil)
		lease := acquire(t, lk)
		token := lease.Token()
		time.Sleep(time.Hour)
		synctest.Wait()
		if isDone(lease) || lease.Err() != nil {
			t.Fatalf("the lease ended: %v", lease.Err())
		}
		if lease.Token() != token {
			t.Fatalf("the token changed from %v to %v", token, lease.Token())
		}
		if n := svc.count("renew begins"); n < 360 || n > 420 {
			t.Fatalf("%d renewals in an hour of 30 s leases, want one every 10 s or little less", n)
		}
	})
}

func TestLossIsSignalledBeforeTheTTLEndsAndNamesTheCause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := errors.New("no route to host")
		svc := newDouble()
		svc.renew = func(context.Context, driver.Grant) error { return broken }
		var lost error
		lk, _ := open(t, svc, &Options{Observer: &Observer{Lost: func(_ context.Context, _ Token, _ time.Duration, cause error) { lost = cause }}})
		start := time.Now()
		lease := acquire(t, lk)
		ctx, cancel := lease.Context(t.Context())
		defer cancel()
		<-ctx.Done()
		synctest.Wait()
		if took := time.Since(start); took > 27*time.Second+time.Millisecond || took < 26*time.Second {
			t.Errorf("the loss of a lease of 30 s was signalled after %v, want a tenth of the TTL before its end", took)
		}
		for name, err := range map[string]error{"cause": context.Cause(ctx), "Err": lease.Err(), "Observer": lost} {
			if !errors.Is(err, ErrLost) || !errors.Is(err, broken) {
				t.Errorf("%s is %v, want ErrLost and what kept it from being renewed", name, err)
			}
		}
		if n := svc.count("renew begins"); n < 5 {
			t.Errorf("only %d attempts before the lease was given up", n)
		}
	})
}

func TestRefusedRenewalEndsTheLeaseAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		svc := newDouble()
		svc.renew = func(context.Context, driver.Grant) error { return driver.ErrNotCurrent }
		lk, _ := open(t, svc, nil)
		lease := acquire(t, lk)
		start := time.Now()
		<-lease.Done()
		if took := time.Since(start); took > 10*time.Second {
			t.Errorf("noticed after %v, want at the first renewal", took)
		}
		if err := lease.Err(); !errors.Is(err, ErrLost) || !errors.Is(err, driver.ErrNotCurrent) {
			t.Errorf("Err = %v", err)
		}
	})
}

// A suspended machine stops timers; the clock goes on. The first look at the lease must tell.
func TestLeaseThatOutlivedASuspendedMachineIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lk, suspended := open(t, newDouble(), nil)
		lease := acquire(t, lk)
		ctx, cancel := lease.Context(t.Context())
		defer cancel()
		lk.mu.Lock()
		*suspended = time.Minute
		lk.mu.Unlock()
		if err := lease.Err(); !errors.Is(err, ErrLost) {
			t.Errorf("Err right after the machine woke is %v", err)
		}
		if !errors.Is(context.Cause(ctx), ErrLost) {
			t.Errorf("the context's cause is %v", context.Cause(ctx))
		}
	})
}

// The same without anybody asking: the runner looks at least twice a second.
func TestRunnerNoticesASuspendedMachine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lk, suspended := open(t, newDouble(), nil)
		lease := acquire(t, lk)
		time.Sleep(time.Second)
		synctest.Wait()
		lk.mu.Lock()
		*suspended = time.Minute
		lk.mu.Unlock()
		woke := time.Now()
		<-lease.Done()
		if took := time.Since(woke); took > longestSleep {
			t.Errorf("noticed %v after the machine woke", took)
		}
	})
}

func TestReleaseJoinsTheRenewal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		svc := newDouble()
		entered, proceed := make(chan struct{}), make(chan struct{})
		svc.renew = func(context.Context, driver.Grant) error { close(entered); <-proceed; return nil }
		lk, _ := open(t, svc, nil)
		lease := acquire(t, lk)
		<-entered
		released := make(chan error)
		go func() { released <- lease.Release(t.Context()) }()
		synctest.Wait()
		if svc.count("release") != 0 {
			t.Error("the release was sent while a renewal was under way")
		}
		close(proceed)
		if err := <-released; err != nil {
			t.Errorf("Release: %v", err)
		}
		time.Sleep(time.Minute)
		svc.mu.Lock()
		defer svc.mu.Unlock()
		if got := strings.Join(svc.calls, ", "); got != "acquire, renew begins, renew ends, release g1" {
			t.Errorf("the service saw: %s", got)
		}
	})
}

func TestReleaseAnswers(t *testing.T) {
	unreachable := errors.New("connection refused")
	for name, c := range map[string]struct {
		service error
		want    error
		not     error
	}{
		"confirmed":   {nil, nil, nil},
		"was lost":    {driver.ErrNotCurrent, ErrLost, nil},
		"unconfirmed": {unreachable, unreachable, ErrLost},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				svc := newDouble()
				svc.release = func(context.Context, driver.Grant) error { return c.service }
				lk, _ := open(t, svc, nil)
				lease := acquire(t, lk)
				err := lease.Release(t.Context())
				if !errors.Is(err, c.want) || (c.not != nil && errors.Is(err, c.not)) {
					t.Errorf("Release = %v, want %v", err, c.want)
				}
				if !errors.Is(lease.Err(), ErrReleased) {
					t.Errorf("Err = %v", lease.Err())
				}
				if again := lease.Release(t.Context()); !errors.Is(again, ErrReleased) {
					t.Errorf("a second Release = %v", again)
				}
				if svc.count("release") != 1 {
					t.Errorf("%d releases were sent", svc.count("release"))
				}
			})
		})
	}
}

func TestReleaseIgnoresACancelledContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		svc := newDouble()
		svc.release = func(ctx context.Context, _ driver.Grant) error { return ctx.Err() }
		lk, _ := open(t, svc, nil)
		lease := acquire(t, lk)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := lease.Release(ctx); err != nil {
			t.Errorf("Release with the context of a finished request: %v", err)
		}
	})
}

func TestReleaseGivesUpOnAServiceThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		svc := newDouble()
		svc.release = func(ctx context.Context, _ driver.Grant) error { <-ctx.Done(); return ctx.Err() }
		lk, _ := open(t, svc, nil)
		lease := acquire(t, lk)
		start := time.Now()
		if err := lease.Release(t.Context()); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Release = %v", err)
		}
		if took := time.Since(start); took > releaseTimeout {
			t.Errorf("took %v", took)
		}
	})
}

func TestReleaseAfterLossSaysLostAndStillFreesTheLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		svc := newDouble()
		lk, _ := open(t, svc, &Options{NoRenewal: true, TTL: time.Second})
		lease := acquire(t, lk)
		<-lease.Done()
		if err := lease.Release(t.Context()); !errors.Is(err, ErrLost) {
			t.Errorf("Release = %v", err)
		}
		if svc.count("release g1") != 1 {
			t.Error("the service was not told: others wait for the rest of the TTL")
		}
	})
}

// The renewal was given up for lost and then succeeded: the service would keep the resource for nobody.
func TestRenewalThatSucceedsAfterTheLossIsGivenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		svc := newDouble()
		svc.renew = func(context.Context, driver.Grant) error { time.Sleep(time.Minute); return nil }
		lk, _ := open(t, svc, nil)
		lease := acquire(t, lk)
		<-lease.Done()
		time.Sleep(2 * time.Minute)
		if !errors.Is(lease.Err(), ErrLost) || svc.count("release g1") != 1 {
			t.Errorf("Err = %v, releases: %d", lease.Err(), svc.count("release g1"))
		}
	})
}

func TestAcquireWhoseReplyWasLostIsGivenBack(t *testing.T) {
	for name, give := range map[string]error{"reply lost": errors.New("unexpected EOF"), "deadline": context.DeadlineExceeded} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				svc := newDouble()
				granted := svc.acquire
				svc.acquire = func(ctx context.Context, r driver.Request) (driver.Grant, error) {
					_, _ = granted(ctx, r)
					return driver.Grant{}, give
				}
				svc.release = func(ctx context.Context, g driver.Grant) error {
					if ctx.Err() != nil || g.Number != 0 || g.Resource != "account/42" {
						t.Errorf("the clean-up is %+v with a context that is %v", g, ctx.Err())
					}
					return nil
				}
				lk, _ := open(t, svc, nil)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if _, err := lk.Acquire(ctx, "account/42"); !errors.Is(err, give) {
					t.Errorf("Acquire = %v", err)
				}
				if svc.count("release g1") != 1 {
					t.Error("the attempt was not cleaned up by its grant id")
				}
			})
		})
	}
}

func TestGrantThatArrivesTooLateIsRefusedAndGivenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		svc := newDouble()
		granted := svc.acquire
		svc.acquire = func(ctx context.Context, r driver.Request) (driver.Grant, error) {
			time.Sleep(time.Minute)
			return granted(ctx, r)
		}
		lk, _ := open(t, svc, nil)
		if _, err := lk.TryAcquire(t.Context(), "account/42"); !errors.Is(err, ErrLost) {
			t.Errorf("TryAcquire = %v", err)
		}
		if svc.count("release g1") != 1 {
			t.Error("the grant was not given back")
		}
	})
}

func TestServiceThatBreaksItsContractIsRefused(t *testing.T) {
	for name, bend := range map[string]func(*driver.Grant){
		"number 0":         func(g *driver.Grant) { g.Number = 0 },
		"negative number":  func(g *driver.Grant) { g.Number = -1 },
		"another grant":    func(g *driver.Grant) { g.GrantID = "other" },
		"another resource": func(g *driver.Grant) { g.Resource = "account/43" },
		"no TTL":           func(g *driver.Grant) { g.TTL = 0 },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				svc := newDouble()
				granted := svc.acquire
				svc.acquire = func(ctx context.Context, r driver.Request) (driver.Grant, error) {
					g, err := granted(ctx, r)
					bend(&g)
					return g, err
				}
				lk, _ := open(t, svc, nil)
				if lease, err := lk.TryAcquire(t.Context(), "account/42"); err == nil || lease != nil || !strings.Contains(err.Error(), "broke its contract") {
					t.Errorf("TryAcquire = %v, %v", lease, err)
				}
			})
		})
	}
}

func TestHeldResource(t *testing.T) {
	held := &driver.HeldError{Holder: "host/7", Number: 3, Remaining: 20 * time.Second}
	synctest.Test(t, func(t *testing.T) {
		svc := newDouble()
		svc.acquire = func(context.Context, driver.Request) (driver.Grant, error) { return driver.Grant{}, held }
		lk, _ := open(t, svc, nil)
		_, err := lk.TryAcquire(t.Context(), "account/42")
		if !errors.Is(err, ErrHeld) || !strings.Contains(err.Error(), "host/7") {
			t.Errorf("TryAcquire = %v", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		_, err = lk.Acquire(ctx, "account/42")
		if !errors.Is(err, ErrHeld) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Acquire = %v, want what stood in the way and why the wait ended", err)
		}
		if svc.count("release") != 0 {
			t.Error("nothing was granted, and something was released")
		}
		if n := svc.count("acquire"); n < 10 || n > 40 {
			t.Errorf("%d attempts in 3 s", n)
		}
	})
}

// The context ends while a request is under way, after others were refused: the error still says what stood in the way, and what
// the request may have been granted is given back.
func TestWaitThatEndsDuringARequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		svc := newDouble()
		svc.acquire = func(ctx context.Context, _ driver.Request) (driver.Grant, error) {
			if svc.count("acquire") < 3 {
				return driver.Grant{}, &driver.HeldError{Holder: "host/7"}
			}
			<-ctx.Done()
			return driver.Grant{}, ctx.Err()
		}
		lk, _ := open(t, svc, nil)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := lk.Acquire(ctx, "account/42")
		if !errors.Is(err, ErrHeld) || !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "host/7") {
			t.Errorf("Acquire = %v", err)
		}
		if svc.count("release g1") != 1 {
			t.Error("the request in doubt was not cleaned up")
		}
	})
}

func TestDo(t *testing.T) {
	boom := errors.New("boom")
	t.Run("releases after success", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			svc := newDouble()
			lk, _ := open(t, svc, nil)
			err := lk.Do(t.Context(), "account/42", func(ctx context.Context, l *Lease) error { return ctx.Err() })
			if err != nil || svc.count("release") != 1 {
				t.Errorf("Do = %v, releases: %d", err, svc.count("release"))
			}
		})
	})
	t.Run("returns the error and releases", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			svc := newDouble()
			lk, _ := open(t, svc, nil)
			err := lk.Do(t.Context(), "account/42", func(context.Context, *Lease) error { return boom })
			if !errors.Is(err, boom) || svc.count("release") != 1 {
				t.Errorf("Do = %v, releases: %d", err, svc.count("release"))
			}
		})
	})
	t.Run("cancels with the cause and says lost", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			svc := newDouble()
			svc.renew = func(context.Context, driver.Grant) error { return driver.ErrNotCurrent }
			lk, _ := open(t, svc, nil)
			err := lk.Do(t.Context(), "account/42", func(ctx context.Context, l *Lease) error {
				<-ctx.Done()
				if !errors.Is(context.Cause(ctx), ErrLost) {
					t.Errorf("cause: %v", context.Cause(ctx))
				}
				return nil
			})
			if !errors.Is(err, ErrLost) {
				t.Errorf("Do = %v", err)
			}
		})
	})
	t.Run("releases after a panic", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			svc := newDouble()
			lk, _ := open(t, svc, nil)
			defer func() {
				if recover() != boom || svc.count("release") != 1 {
					t.Errorf("releases: %d", svc.count("release"))
				}
			}()
			_ = lk.Do(t.Context(), "account/42", func(context.Context, *Lease) error { panic(boom) })
		})
	})
	t.Run("accepts a release by the function", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			lk, _ := open(t, newDouble(), nil)
			if err := lk.Do(t.Context(), "account/42", func(ctx context.Context, l *Lease) error { return l.Release(ctx) }); err != nil {
				t.Errorf("Do = %v", err)
			}
		})
	})
}

func TestStaleAnswerCancelsTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lk, _ := open(t, newDouble(), nil)
		for name, answer := range map[string]error{"stale": &StaleError{Resource: "account/42", Presented: 1, Stored: 2}, "reused": ErrTokenReused} {
			lease := acquire(t, lk)
			var seen []Decision
			o := &Observer{Decided: func(_ context.Context, d Decision) { seen = append(seen, d) }}
			stamp := lease.Stamp()
			if err := stamp.Settle(t.Context(), o, Write, ErrDuplicate); err != ErrDuplicate || isDone(lease) {
				t.Errorf("%s: a duplicate ended the lease", name)
			}
			if err := stamp.Settle(t.Context(), o, Write, answer); err != answer {
				t.Errorf("%s: Settle changed the error to %v", name, err)
			}
			if !isDone(lease) || !errors.Is(lease.Err(), ErrLost) || !errors.Is(lease.Err(), answer) {
				t.Errorf("%s: the lease goes on: %v", name, lease.Err())
			}
			if len(seen) != 2 || seen[1].Verdict != VerdictOf(answer) || seen[1].Stamp != stamp {
				t.Errorf("%s: the observer saw %+v", name, seen)
			}
			// A stamp whose token crossed processes knows no lease.
			_ = lease.Token().Stamp(9).Settle(t.Context(), nil, Write, answer)
		}
	})
}

func TestStampsCountUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lk, _ := open(t, newDouble(), nil)
		lease := acquire(t, lk)
		for want := range int64(3) {
			if s := lease.Stamp(); s.Step() != want+1 || s.Token() != lease.Token() {
				t.Errorf("stamp %v, want step %d", s, want+1)
			}
		}
	})
}

func TestOptionsAreCheckedAgainstTheService(t *testing.T) {
	async := newDouble()
	async.info.Guarantee = driver.Async
	undeclared := newDouble()
	undeclared.info.Guarantee = 0
	nameless := newDouble()
	nameless.info.Source = ""
	for name, c := range map[string]struct {
		svc  driver.LockService
		opts *Options
		says string // empty: accepted
	}{
		"defaults":           {newDouble(), nil, ""},
		"zero TTL":           {newDouble(), &Options{}, ""},
		"negative TTL":       {newDouble(), &Options{TTL: -time.Second}, "must be positive"},
		"below the unit":     {newDouble(), &Options{TTL: 20500 * time.Microsecond}, "whole multiples of 1ms"},
		"below the minimum":  {newDouble(), &Options{TTL: 9 * time.Millisecond}, "10ms or more"},
		"above the maximum":  {newDouble(), &Options{TTL: 2 * time.Hour}, "1h0m0s or less"},
		"async":              {async, nil, "AllowAsync"},
		"async and opted in": {async, &Options{AllowAsync: true}, ""},
		"no guarantee":       {undeclared, nil, "declares no guarantee"},
		"no source":          {nameless, nil, "source"},
		"hostile holder":     {newDouble(), &Options{Holder: "a\x00b"}, "printable"},
		"long holder":        {newDouble(), &Options{Holder: strings.Repeat("x", 300)}, "255 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			lk, err := New(c.svc, c.opts)
			if c.says == "" {
				if err != nil {
					t.Fatal(err)
				}
				_ = lk.Close()
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Fatalf("New = %v, want an error that says %q", err, c.says)
			}
		})
	}
}

func TestInvalidResourceIsRefusedBeforeTheService(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		svc := newDouble()
		lk, _ := open(t, svc, nil)
		if _, err := lk.Acquire(t.Context(), "account"); !errors.Is(err, ErrInvalidResource) {
			t.Errorf("Acquire = %v", err)
		}
		if len(svc.calls) != 0 {
			t.Errorf("the service was asked: %v", svc.calls)
		}
	})
}

func TestCloseEndsLeasesAndWaiters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		svc := newDouble()
		granted := svc.acquire
		lk, _ := open(t, svc, nil)
		lease := acquire(t, lk)
		svc.acquire = func(ctx context.Context, r driver.Request) (driver.Grant, error) {
			if r.Resource == "account/busy" {
				return driver.Grant{}, &driver.HeldError{}
			}
			return granted(ctx, r)
		}
		waiting := make(chan error)
		go func() {
			_, err := lk.Acquire(t.Context(), "account/busy")
			waiting <- err
		}()
		synctest.Wait()
		if err := lk.Close(); err != nil {
			t.Error(err)
		}
		if err := lease.Err(); !errors.Is(err, ErrLost) || !errors.Is(err, ErrClosed) {
			t.Errorf("the lease: %v", err)
		}
		if err := <-waiting; !errors.Is(err, ErrClosed) {
			t.Errorf("the waiter: %v", err)
		}
		if _, err := lk.Acquire(t.Context(), "account/42"); !errors.Is(err, ErrClosed) {
			t.Errorf("Acquire after Close: %v", err)
		}
		if svc.count("release") != 0 || svc.count("close") != 1 {
			t.Errorf("the service saw %v; Close must not let others in while code runs", svc.calls)
		}
		_ = lk.Close()
		if svc.count("close") != 1 {
			t.Error("a second Close closed the service again")
		}
	}) // the bubble itself fails if a goroutine is left
}

func TestCloseDoesNotWaitForAServiceThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		svc := newDouble()
		svc.renew = func(ctx context.Context, _ driver.Grant) error { <-ctx.Done(); return ctx.Err() }
		lk, _ := open(t, svc, nil)
		acquire(t, lk)
		time.Sleep(11 * time.Second)
		start := time.Now()
		_ = lk.Close()
		if took := time.Since(start); took > 0 {
			t.Errorf("Close took %v", took)
		}
	})
}

func TestIdleLockerHasNoGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		before := runtime.NumGoroutine()
		lk, _ := open(t, newDouble(), nil)
		lease := acquire(t, lk)
		time.Sleep(time.Minute)
		if err := lease.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if now := runtime.NumGoroutine(); now > before {
			t.Errorf("%d goroutines are left after the last release", now-before)
		}
		if again := acquire(t, lk); again.Token().Number() != 2 {
			t.Errorf("the second lease has the token %v", again.Token())
		}
	})
}

func TestRenewalOfManyLeasesTakesAConstantNumberOfGoroutines(t *testing.T) {
	for name, c := range map[string]struct {
		svc    driver.LockService
		leases int
	}{
		"one by one": {newDouble(), 10_000},
		"in batches": {batching{newDouble()}, 100_000},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				before := runtime.NumGoroutine()
				lk, _ := open(t, c.svc, nil)
				for i := range c.leases {
					if _, err := lk.Acquire(t.Context(), Resource(fmt.Sprintf("account/%d", i))); err != nil {
						t.Fatal(err)
					}
				}
				most := 0
				for range 25 { // two rounds of renewals
					time.Sleep(time.Second)
					most = max(most, runtime.NumGoroutine()-before)
				}
				if most > maxRenewers+1 {
					t.Errorf("%d goroutines for %d leases", most, c.leases)
				}
				lk.mu.Lock()
				defer lk.mu.Unlock()
				if live := len(lk.machine.queue); live != c.leases {
					t.Errorf("%d of %d leases are live after two renewals", live, c.leases)
				}
			})
		})
	}
}

// batching is a service that renews many grants in one request.
type batching struct{ *double }

func (b batching) RenewMany(ctx context.Context, grants []driver.Grant, _ time.Duration) ([]error, error) {
	return make([]error, len(grants)), b.Renew(ctx, driver.Grant{}, 0)
}

func TestBatchAnswersReachTheirLeases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		svc := picky{newDouble()}
		lk, _ := open(t, svc, nil)
		var leases []*Lease
		for i := range 10 {
			lease, err := lk.Acquire(t.Context(), Resource(fmt.Sprintf("account/%d", i)))
			if err != nil {
				t.Fatal(err)
			}
			leases = append(leases, lease)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		for i, lease := range leases {
			if lost := lease.Err() != nil; lost != (i%2 == 0) {
				t.Errorf("lease %d: %v", i, lease.Err())
			}
		}
	})
}

// picky refuses to renew the grants with an odd number.
type picky struct{ *double }

func (p picky) RenewMany(_ context.Context, grants []driver.Grant, _ time.Duration) ([]error, error) {
	errs := make([]error, len(grants))
	for i, g := range grants {
		if g.Number%2 == 1 {
			errs[i] = driver.ErrNotCurrent
		}
	}
	return errs, nil
}

func TestWaiterIsWokenBySignalAndByTheFloorBelowIt(t *testing.T) {
	for name, c := range map[string]struct {
		signal time.Duration // when the signal comes, 0 for never
		within time.Duration
	}{
		"signal":      {3 * time.Second, 3*time.Second + time.Millisecond},
		"lost signal": {0, 3*time.Second + signalFloor},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				svc := signalling{newDouble(), c.signal}
				granted, start := svc.acquire, time.Now()
				svc.acquire = func(ctx context.Context, r driver.Request) (driver.Grant, error) {
					if time.Since(start) < 3*time.Second {
						return driver.Grant{}, &driver.HeldError{}
					}
					return granted(ctx, r)
				}
				lk, _ := open(t, svc, nil)
				acquire(t, lk)
				if took := time.Since(start); took > c.within {
					t.Errorf("granted after %v", took)
				}
				if n := svc.count("acquire"); n > 8 {
					t.Errorf("%d attempts: the signal is not waited for", n)
				}
			})
		})
	}
}

type signalling struct {
	*double
	at time.Duration
}

func (s signalling) Wait(ctx context.Context, _ string) error {
	if s.at == 0 {
		<-ctx.Done()
		return ctx.Err()
	}
	timer := time.NewTimer(s.at)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
