package sqlfence

import (
	"context"
	"database/sql"
	"errors"
	"math/rand/v2"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fencerow/fencerow"
	"github.com/fencerow/fencerow/fence/sqlfence"
	"github.com/fencerow/fencerow/internal/integration/servers"
)

// behindProxy opens a bank whose fences connect through a proxy. Its own looks do not.
func behindProxy(t *testing.T, decide func(sql string) cut) (*bank, *proxy) {
	t.Helper()
	var p *proxy
	b := besides(t, func(u *url.URL) {
		p = startProxy(t, u.Host, decide)
		u.Host = p.addr()
	})
	return b, p
}

// besides opens a bank whose fences have connections of their own, by a URL that change has changed.
func besides(t *testing.T, change func(*url.URL)) *bank {
	t.Helper()
	u, err := url.Parse(servers.PostgresURL(t))
	if err != nil {
		t.Fatal(err)
	}
	b := &bank{database: postgres, db: openURL(t, u)}
	exec(t, b.db, createAccounts)
	exec(t, b.db, "INSERT INTO accounts (id) VALUES (42)")
	change(u)
	b.accounts, b.gate = openFences(t, postgres, openURL(t, u), nil)
	return b
}

func openURL(t *testing.T, u *url.URL) *sql.DB {
	t.Helper()
	db, err := sql.Open("pgx", u.String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// The connection breaks at COMMIT, or at an update that is a transaction of its own: before the server has it, or after it has
// committed. Either way the same stamp is sent again, and the debit is made once.
func TestLostAnswerIsResolved(t *testing.T) {
	for _, form := range []struct {
		name, statement string
		send            func(*bank, fencerow.Stamp) error
	}{
		{"gate", "commit", func(b *bank, s fencerow.Stamp) error { return b.gate.Tx(context.Background(), s, account, debit(1)) }},
		{"row", `UPDATE "accounts"`, func(b *bank, s fencerow.Stamp) error {
			return b.accounts.Update(context.Background(), s, key, sqlfence.Set("balance = balance - 1"))
		}},
	} {
		for name, where := range map[string]cut{"before": cutBefore, "after": cutAfter} {
			t.Run(form.name+", "+name, func(t *testing.T) {
				const rounds = 200
				var armed atomic.Bool
				b, p := behindProxy(t, func(sql string) cut {
					if strings.HasPrefix(sql, form.statement) && armed.CompareAndSwap(true, false) {
						return where
					}
					return cutNothing
				})
				g := grant(5)
				for _, err := range []error{b.gate.Claim(t.Context(), g.Stamp(1), account), b.accounts.Claim(t.Context(), g.Stamp(1), key, nil)} {
					if err != nil {
						t.Fatal(err)
					}
				}
				for round := range int64(rounds) {
					armed.Store(true)
					if err := form.send(b, g.Stamp(round+1)); err != nil || b.balance(t) != 1000-round-1 {
						t.Fatalf("round %d: %v, balance %d", round, err, b.balance(t))
					}
				}
				if n := p.cuts.Load(); n != rounds {
					t.Errorf("the proxy has cut %d connections in %d rounds", n, rounds)
				}
			})
		}
	}
}

// Where no step is recorded a write that is sent again could be applied twice: the answer stays unknown.
func TestLostAnswerWithoutStepsStaysUnknown(t *testing.T) {
	for name, schema := range map[string]sqlfence.Schema{
		"token":            {Name: "accounts", Class: "account", Key: []string{"id"}},
		"token, not older": {Name: "accounts", Class: "account", Key: []string{"id"}, NotOlder: true},
	} {
		t.Run(name, func(t *testing.T) {
			var armed atomic.Bool
			var proxied *url.URL
			b := besides(t, func(u *url.URL) {
				u.Host = startProxy(t, u.Host, func(sql string) cut {
					if strings.HasPrefix(sql, "UPDATE") && armed.CompareAndSwap(true, false) {
						return cutAfter
					}
					return cutNothing
				}).addr()
				proxied = u
			})
			accounts, err := sqlfence.OpenTable(t.Context(), openURL(t, proxied), sqlfence.Postgres, schema, nil)
			if err != nil {
				t.Fatal(err)
			}
			armed.Store(true)
			err = accounts.Update(t.Context(), grant(5).Stamp(1), key, sqlfence.Set("balance = balance - 100"))
			wantVerdict(t, err, fencerow.Ambiguous, "an update whose answer was lost")
			if balance := b.balance(t); balance != 900 {
				t.Errorf("the balance is %d: it was sent again", balance)
			}
		})
	}
}

// The answer to a commit is lost, and before it can be asked for again a newer holder claims: nobody can know then, and the
// answer must say so.
func TestLostAnswerBehindANewerClaimIsAmbiguous(t *testing.T) {
	for name, where := range map[string]cut{"before": cutBefore, "after": cutAfter} {
		t.Run(name, func(t *testing.T) {
			var once sync.Once
			b, p := behindProxy(t, func(sql string) (c cut) {
				if strings.EqualFold(sql, "commit") {
					once.Do(func() { c = where })
				}
				return c
			})
			claimed, claimErr := make(chan struct{}), error(nil)
			p.hold = func() { <-claimed } // the claim is ahead of the client's next attempt
			_, direct := openFences(t, postgres, b.db, nil)
			older, newer := grant(5), grant(6)
			if err := b.gate.Claim(t.Context(), older.Stamp(1), account); err != nil {
				t.Fatal(err)
			}
			calls := 0
			err := b.gate.Tx(t.Context(), older.Stamp(1), account, func(ctx context.Context, tx *sqlfence.Tx) error {
				calls++
				if calls == 1 {
					// It waits for this transaction and is next in line at the gate.
					go func() {
						defer close(claimed)
						claimErr = direct.Claim(context.Background(), newer.Stamp(1), account)
					}()
					waitForLock(t, b.db)
				}
				return debit(100)(ctx, tx)
			})
			if <-claimed; claimErr != nil {
				t.Errorf("the newer claim: %v", claimErr)
			}
			if !errors.Is(err, fencerow.ErrAmbiguous) || !errors.Is(err, fencerow.ErrStale) || fencerow.VerdictOf(err) != fencerow.Ambiguous {
				t.Errorf("%v, want ambiguous and stale", err)
			}
			want := int64(900)
			if where == cutBefore {
				want = 1000
			}
			if balance := b.balance(t); balance != want {
				t.Errorf("the balance is %d, want %d", balance, want)
			}
		})
	}
}

// waitForLock waits until somebody waits for a lock in this database.
func waitForLock(t *testing.T, db *sql.DB) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
		var n int
		err := db.QueryRow("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'").Scan(&n)
		if err != nil {
			t.Error(err)
			return
		}
		if n > 0 {
			return
		}
	}
	t.Error("nobody waits for a lock")
}

// Sessions are terminated at random moments while a holder works. Whatever it is told must be so.
func TestAnswersAreTrueWhenSessionsAreTerminated(t *testing.T) {
	answersAreTrue(t, func(ctx context.Context, b *bank, rng *rand.Rand) {
		for ctx.Err() == nil {
			time.Sleep(time.Duration(rng.IntN(15)) * time.Millisecond)
			_, _ = b.db.Exec(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
				WHERE datname = current_database() AND pid <> pg_backend_pid() AND application_name = 'victim'`)
		}
	}, func() (context.Context, context.CancelFunc) { return context.WithCancel(context.Background()) })
}

// Contexts end at random moments.
func TestAnswersAreTrueWhenContextsEnd(t *testing.T) {
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 1))
	t.Logf("seed %d", seed)
	answersAreTrue(t, func(ctx context.Context, _ *bank, _ *rand.Rand) { <-ctx.Done() },
		func() (context.Context, context.CancelFunc) {
			return context.WithTimeout(context.Background(), time.Duration(100+rng.IntN(4000))*time.Microsecond)
		})
}

// answersAreTrue lets a holder debit 1 in a chain of stamps, by gate and by row, and compares what it is told with the balance.
func answersAreTrue(t *testing.T, disturb func(context.Context, *bank, *rand.Rand), newContext func() (context.Context, context.CancelFunc)) {
	const rounds = 200
	b := besides(t, func(u *url.URL) { u.RawQuery += "&application_name=victim" })
	undisturbed := *b
	undisturbed.accounts, undisturbed.gate = openFences(t, postgres, b.db, nil)
	g := grant(5)
	for _, err := range []error{b.gate.Claim(t.Context(), g.Stamp(1), account), b.accounts.Claim(t.Context(), g.Stamp(1), key, nil)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	seed := rand.Uint64()
	stop, cancel := context.WithCancel(t.Context())
	var disturber sync.WaitGroup
	disturber.Go(func() { disturb(stop, b, rand.New(rand.NewPCG(seed, 0))) })
	defer func() { cancel(); disturber.Wait() }()

	applied, doubts := int64(0), 0
	for round := range int64(rounds) {
		ctx, done := newContext()
		err := b.send(ctx, g.Stamp(round+1))
		done()
		if errors.Is(err, fencerow.ErrAmbiguous) {
			// In doubt: the same stamp is sent until the answer is definite.
			doubts++
			if err = undisturbed.send(t.Context(), g.Stamp(round+1)); errors.Is(err, fencerow.ErrDuplicate) {
				err = nil // it had been applied
			}
			if err != nil {
				t.Fatalf("seed %d, round %d: the stamp in doubt is answered %v", seed, round, err)
			}
		}
		if err == nil {
			applied++
		}
		if balance := b.balance(t); balance != 1000-applied {
			t.Fatalf("seed %d, round %d: told %v; %d were applied and the balance is %d", seed, round, err, applied, balance)
		}
	}
	t.Logf("%d of %d rounds were applied, %d were in doubt", applied, rounds, doubts)
	if applied < rounds/20 {
		t.Errorf("seed %d: only %d of %d rounds were applied: too little happened to prove anything", seed, applied, rounds)
	}
}

// send debits 1, by turns through the gate and the row.
func (b *bank) send(ctx context.Context, stamp fencerow.Stamp) error {
	if stamp.Step()%2 == 0 {
		return b.gate.Tx(ctx, stamp, account, debit(1))
	}
	return b.accounts.Update(ctx, stamp, key, sqlfence.Set("balance = balance - 1"))
}
