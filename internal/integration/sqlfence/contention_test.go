package sqlfence

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fencerow/fencerow"
	"github.com/fencerow/fencerow/fence/sqlfence"
)

var isolations = []sql.IsolationLevel{sql.LevelReadCommitted, sql.LevelRepeatableRead, sql.LevelSerializable}

// A stale update that waits behind an uncommitted newer one must judge the row as the newer one leaves it.
func TestUpdateBehindAnUncommittedNewerOne(t *testing.T) {
	for _, isolation := range isolations {
		for _, commits := range []bool{true, false} {
			t.Run(fmt.Sprintf("%v, commits: %v", isolation, commits), func(t *testing.T) {
				b := newBank(t, postgres, nil)
				exec(t, b.db, "ALTER DATABASE "+currentDatabase(t, b.db)+" SET default_transaction_isolation = '"+isolation.String()+"'")
				b.db.SetMaxIdleConns(0) // connect anew, to take on the setting
				older, newer := grant(33), grant(34)
				if err := b.accounts.Claim(t.Context(), older.Stamp(1), key, nil); err != nil {
					t.Fatal(err)
				}
				tx, err := b.db.BeginTx(t.Context(), nil)
				if err != nil {
					t.Fatal(err)
				}
				if err := b.accounts.In(tx).Claim(t.Context(), newer.Stamp(1), key, nil); err != nil {
					t.Fatal(err)
				}
				done := make(chan error, 1)
				go func() {
					done <- b.accounts.Update(context.Background(), older.Stamp(2), key, sqlfence.Set("balance = balance - ?", 100))
				}()
				stays(t, done, "the update behind an uncommitted claim")
				want, balance := fencerow.Applied, int64(900)
				if commits {
					err, want, balance = tx.Commit(), fencerow.Stale, 1000
				} else {
					err = tx.Rollback()
				}
				if err != nil {
					t.Fatal(err)
				}
				wantVerdict(t, ends(t, done, "the update"), want, "the older holder's update")
				if got := b.balance(t); got != balance {
					t.Errorf("the balance is %d, want %d", got, balance)
				}
			})
		}
	}
}

// The reason of a refusal is read under the row's lock: a newer holder that is about to commit is waited for, and not overlooked.
func TestReasonIsReadUnderTheLock(t *testing.T) {
	b := newBank(t, postgres, nil)
	older, newer := grant(33), grant(34)
	if err := b.accounts.Claim(t.Context(), older.Stamp(1), key, nil); err != nil {
		t.Fatal(err)
	}
	tx, err := b.db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.accounts.In(tx).Claim(t.Context(), newer.Stamp(1), key, nil); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { // its own condition is false, so that the update itself does not wait
		done <- b.accounts.Update(context.Background(), older.Stamp(2), key, sqlfence.Set("balance = 0"), sqlfence.Where("balance > 5000"))
	}()
	stays(t, done, "the look for a reason")
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	wantVerdict(t, ends(t, done, "the update"), fencerow.Stale, "the older holder's update")
}

// The same at the gate: a stamp that was recorded before is looked up behind the claim that is under way.
func TestReasonIsReadUnderTheLockOfTheGate(t *testing.T) {
	b := newBank(t, postgres, nil)
	older := grant(33)
	if err := b.gate.Tx(t.Context(), older.Stamp(1), account, debit(1)); err != nil {
		t.Fatal(err)
	}
	tx, err := b.db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec("UPDATE fencerow_gate SET fence_token = 34, fence_grant = 'newer', fence_step = 0"); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- b.gate.Tx(context.Background(), older.Stamp(1), account, debit(1)) }()
	stays(t, done, "the look for a reason")
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	wantVerdict(t, ends(t, done, "the transaction"), fencerow.Stale, "the older holder's transaction")
}

func currentDatabase(t *testing.T, db *sql.DB) (name string) {
	t.Helper()
	if err := db.QueryRow("SELECT current_database()").Scan(&name); err != nil {
		t.Fatal(err)
	}
	return `"` + name + `"`
}

// A claim waits for the older holder's transaction that has passed the gate, then reads what that one has left; the next
// transaction of the older holder is refused.
func TestClaimWaitsForATransactionInFlight(t *testing.T) {
	for _, isolation := range isolations {
		for _, through := range []string{"Tx", "Shared"} {
			t.Run(isolation.String()+", "+through, func(t *testing.T) {
				b := newBank(t, postgres, &sqlfence.Options{Isolation: isolation})
				older, newer := grant(33), grant(34)
				run := b.gate.Tx
				if through == "Shared" {
					run = b.gate.Shared
				}
				inside, proceed := make(chan struct{}), make(chan struct{})
				var once sync.Once
				first, second := make(chan error, 1), make(chan error, 1)
				go func() {
					first <- run(context.Background(), older.Stamp(1), account, func(ctx context.Context, tx *sqlfence.Tx) error {
						once.Do(func() { close(inside) })
						<-proceed
						return debit(100)(ctx, tx)
					})
				}()
				<-inside
				go func() { second <- b.gate.Claim(context.Background(), newer.Stamp(1), account) }()
				stays(t, second, "the claim")
				close(proceed)
				if err := ends(t, first, "the older holder's transaction"); err != nil {
					t.Errorf("the transaction that was in flight: %v", err)
				}
				if err := ends(t, second, "the claim"); err != nil {
					t.Errorf("the claim: %v", err)
				}
				var seen int64
				err := b.gate.Tx(t.Context(), newer.Stamp(2), account, func(ctx context.Context, tx *sqlfence.Tx) error {
					return tx.QueryRowContext(ctx, accountN).Scan(&seen)
				})
				if err != nil || seen != 900 {
					t.Errorf("the newer holder reads %d, %v; want what the older one has left", seen, err)
				}
				wantVerdict(t, run(t.Context(), older.Stamp(2), account, debit(1)), fencerow.Stale, "the older holder's next transaction")
			})
		}
	}
}

func TestSharedTransactionsRunSideBySide(t *testing.T) {
	b := newBank(t, postgres, nil)
	g := grant(5)
	var inside sync.WaitGroup
	inside.Add(2)
	done := make(chan error, 2)
	for range 2 {
		go func() {
			done <- b.gate.Shared(context.Background(), g.Stamp(1), account, func(context.Context, *sqlfence.Tx) error {
				inside.Done()
				inside.Wait() // both are inside at once, or neither ends
				return nil
			})
		}()
	}
	for range 2 {
		if err := ends(t, done, "a shared transaction"); err != nil {
			t.Error(err)
		}
	}
}

// A grant that has claimed does not wait for its own transactions when it claims again: it would wait for ever inside of one.
func TestRepeatedClaimDoesNotWaitForItsOwnTransactions(t *testing.T) {
	each(t, func(t *testing.T, d database) {
		b := newBank(t, d, nil)
		g := grant(5)
		for name, run := range map[string]func(context.Context, fencerow.Stamp, fencerow.Resource, func(context.Context, *sqlfence.Tx) error) error{
			"Tx": b.gate.Tx, "Shared": b.gate.Shared,
		} {
			done := make(chan error, 1)
			go func() {
				done <- run(context.Background(), g.Stamp(1), account, func(ctx context.Context, _ *sqlfence.Tx) error {
					return b.gate.Claim(ctx, g.Stamp(1), account)
				})
			}()
			if err := ends(t, done, name); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

// Holders come and go while those before them go on. Each appends what it has read to a chain: an update that was computed from
// anything but the value it replaces would break it, and an answer that is not true would not add up.
func TestNoUpdateIsLostUnderContention(t *testing.T) {
	const holders, writes = 10, 12
	type variant struct {
		name string
		db   database
		opts *sqlfence.Options
	}
	variants := []variant{{"SQLite", sqlite, nil}, {"SQLite, deferred", deferred, nil}}
	for _, isolation := range isolations {
		variants = append(variants, variant{"Postgres, " + isolation.String(), postgres, &sqlfence.Options{Isolation: isolation}},
			variant{"MariaDB, " + isolation.String(), mariadb, &sqlfence.Options{Isolation: isolation}})
	}
	for _, v := range variants {
		for _, form := range []string{"gate", "gate at commit", "row"} {
			t.Run(v.name+", "+form, func(t *testing.T) {
				seed := rand.Uint64()
				b := newBank(t, v.db, v.opts)
				exec(t, b.db, "CREATE TABLE chain (id bigint PRIMARY KEY, read_before bigint NOT NULL UNIQUE)")
				var applied atomic.Int64
				var wg sync.WaitGroup
				for n := range int64(holders) {
					h := &contender{bank: b, token: grant(n + 1), rng: rand.New(rand.NewPCG(seed, uint64(n))), applied: &applied}
					wg.Go(func() {
						if err := h.work(form, writes); err != nil {
							t.Errorf("seed %d, holder %d: %v", seed, n+1, err)
						}
					})
				}
				wg.Wait()
				if balance := b.balance(t); 1000-balance != applied.Load() {
					t.Errorf("seed %d: %d debits of 1 were applied and the balance is %d", seed, applied.Load(), balance)
				}
			})
		}
	}
}

type contender struct {
	*bank
	token   fencerow.Token
	step    int64
	rng     *rand.Rand
	applied *atomic.Int64
}

func (c *contender) next() fencerow.Stamp { c.step++; return c.token.Stamp(c.step) }

func (c *contender) work(form string, writes int) error {
	ctx := context.Background()
	time.Sleep(time.Duration(c.token.Number())*3*time.Millisecond + time.Duration(c.rng.IntN(3000))*time.Microsecond)
	for range writes {
		var err error
		switch form {
		case "gate":
			err = c.gate.Tx(ctx, c.next(), account, c.readModifyWrite)
		case "gate at commit":
			err = c.gate.TxAtCommit(ctx, c.next(), account, c.readModifyWrite)
		default:
			err = c.row(ctx)
		}
		switch {
		case err == nil:
			c.applied.Add(1)
		case errors.Is(err, fencerow.ErrStale):
			return nil
		default:
			return err
		}
		time.Sleep(time.Duration(c.rng.IntN(1500)) * time.Microsecond)
	}
	return nil
}

// readModifyWrite writes back what it has computed from what it has read, as an application would.
func (c *contender) readModifyWrite(ctx context.Context, tx *sqlfence.Tx) error {
	var balance int64
	if err := tx.QueryRowContext(ctx, accountN).Scan(&balance); err != nil {
		return err
	}
	time.Sleep(time.Duration(c.rng.IntN(1000)) * time.Microsecond)
	if _, err := tx.ExecContext(ctx, c.rebind("INSERT INTO chain (id, read_before) VALUES ($1, $2)"), c.token.Number()*1000+c.step, balance); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, c.rebind("UPDATE accounts SET balance = $1 WHERE id = 42"), balance-1)
	return err
}

func (c *contender) row(ctx context.Context) error {
	var balance int64
	if err := c.accounts.Claim(ctx, c.next(), key, sqlfence.Into{"balance": &balance}); err != nil {
		return err
	}
	time.Sleep(time.Duration(c.rng.IntN(1000)) * time.Microsecond)
	return c.accounts.Update(ctx, c.next(), key, sqlfence.Set("balance = ?", balance-1))
}

func TestRacingFirstClaims(t *testing.T) {
	each(t, func(t *testing.T, d database) {
		b := newBank(t, d, nil)
		const claims = 16
		var wg sync.WaitGroup
		for n := range int64(claims) {
			wg.Go(func() {
				if err := b.gate.Claim(context.Background(), grant(n+1).Stamp(1), account); err != nil && !errors.Is(err, fencerow.ErrStale) {
					t.Errorf("claim %d: %v", n+1, err)
				}
			})
		}
		wg.Wait()
		wantVerdict(t, b.gate.Claim(t.Context(), grant(claims-1).Stamp(1), account), fencerow.Stale, "a claim below the newest")
	})
}
