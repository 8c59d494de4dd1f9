package sqlfence

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/fencerow/fencerow"
	"github.com/fencerow/fencerow/fence/sqlfence"
)

// stuck lets an older holder stop within a transaction that has passed the gate. The returned function lets it go on, and returns
// what it is told.
func stuck(t *testing.T, b *bank, run func(context.Context, fencerow.Stamp, fencerow.Resource, func(context.Context, *sqlfence.Tx) error) error) (thaw func() error) {
	t.Helper()
	inside, proceed, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	entered := false
	go func() {
		done <- run(context.Background(), grant(33).Stamp(1), account, func(ctx context.Context, tx *sqlfence.Tx) error {
			if err := debit(100)(ctx, tx); err != nil {
				return err
			}
			if !entered {
				entered = true
				close(inside)
			}
			<-proceed
			return nil
		})
	}()
	select {
	case <-inside:
	case err := <-done:
		t.Fatalf("the older holder's transaction ended: %v", err)
	}
	thawed := sync.OnceFunc(func() { close(proceed) })
	t.Cleanup(thawed) // of a test that has failed
	return func() error {
		thawed()
		return ends(t, done, "the older holder's transaction")
	}
}

var withSessions = []database{postgres, mariadb}

// A claim behind a holder that is frozen within a transaction ends in time, and says who blocks it.
func TestBlockedClaimNamesWhoBlocksIt(t *testing.T) {
	for _, d := range withSessions {
		for _, form := range []string{"gate", "gate transaction", "row"} {
			t.Run(d.name+", "+form, func(t *testing.T) {
				t.Parallel()
				b := newBank(t, d, &sqlfence.Options{ClaimTimeout: 2 * time.Second})
				thaw := stuck(t, b, b.gate.Tx)
				var err error
				switch form {
				case "gate":
					err = b.gate.Claim(t.Context(), grant(34).Stamp(1), account)
				case "gate transaction":
					err = b.gate.Tx(t.Context(), grant(34).Stamp(1), account, debit(1))
				default: // the transaction has written the row
					err = b.accounts.Claim(t.Context(), grant(34).Stamp(1), key, nil)
				}
				var blocked *sqlfence.BlockedError
				if !errors.As(err, &blocked) || len(blocked.Blockers) != 1 || blocked.Resource != account || blocked.Waited < time.Second {
					t.Fatalf("%v, want a BlockedError with one blocker", err)
				}
				wantVerdict(t, err, fencerow.Conflict, "a claim that was blocked")
				who := blocked.Blockers[0]
				if who.Session == 0 || who.User == "" || d.name == "Postgres" && who.State != "idle in transaction" {
					t.Errorf("the blocker is %v", who)
				}
				t.Log(err)
				if err := thaw(); err != nil {
					t.Errorf("the older holder, which nobody has superseded: %v", err)
				}
				if form != "row" {
					if err := b.gate.Claim(t.Context(), grant(35).Stamp(1), account); err != nil {
						t.Errorf("a claim after that: %v", err)
					}
				}
			})
		}
	}
}

// A claim may end the session that blocks it. What the frozen holder has written there is rolled back, and it is told so.
func TestBlockersAreEndedIfThatIsWanted(t *testing.T) {
	for _, d := range withSessions {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			b := newBank(t, d, &sqlfence.Options{ClaimTimeout: 2 * time.Second, EndBlockers: true})
			thaw := stuck(t, b, b.gate.Tx)
			if err := b.gate.Claim(t.Context(), grant(34).Stamp(1), account); err != nil {
				t.Fatalf("the claim: %v", err)
			}
			err := thaw()
			// Its commit went nowhere, or its answer was lost; the same stamp is refused then.
			if !errors.Is(err, fencerow.ErrStale) {
				t.Errorf("the older holder is told %v, want stale", err)
			}
			if balance := b.balance(t); balance != 1000 {
				t.Errorf("the balance is %d", balance)
			}
		})
	}
}

// On SQLite the wait is for the whole file, and nobody knows whose transaction it is.
func TestBlockedClaimOnSQLite(t *testing.T) {
	b := newBank(t, sqlite, &sqlfence.Options{ClaimTimeout: time.Second})
	thaw := stuck(t, b, b.gate.Tx)
	err := b.gate.Claim(t.Context(), grant(34).Stamp(1), account)
	var blocked *sqlfence.BlockedError
	if !errors.As(err, &blocked) || blocked.Blockers != nil {
		t.Errorf("%v, want a BlockedError without blockers", err)
	}
	if err := thaw(); err != nil {
		t.Error(err)
	}
}

// With the gate at the commit a frozen holder blocks no claim, and is refused when it wakes.
func TestGateAtCommitBlocksNobody(t *testing.T) {
	for _, d := range withSessions {
		t.Run(d.name, func(t *testing.T) {
			b := newBank(t, d, nil)
			thaw := stuck(t, b, b.gate.TxAtCommit)
			done := make(chan error, 1)
			go func() { done <- b.gate.Claim(context.Background(), grant(34).Stamp(1), account) }()
			if err := ends(t, done, "the claim"); err != nil {
				t.Fatal(err)
			}
			wantVerdict(t, thaw(), fencerow.Stale, "the older holder's commit")
			if balance := b.balance(t); balance != 1000 {
				t.Errorf("the balance is %d", balance)
			}
		})
	}
}

// What goes wrong at a gate that is passed at the commit because of a newer holder's writes is said to be stale.
func TestFailureBehindANewerHolderIsStale(t *testing.T) {
	each(t, func(t *testing.T, d database) {
		b := newBank(t, d, nil)
		older := grant(33)
		if err := b.gate.Claim(t.Context(), older.Stamp(1), account); err != nil {
			t.Fatal(err)
		}
		boom := errors.New("boom")
		for name, c := range map[string]struct {
			newer func()
			want  fencerow.Verdict
		}{
			"nobody is newer": {func() {}, fencerow.Failed},
		} {
			err := b.gate.TxAtCommit(t.Context(), older.Stamp(2), account, func(context.Context, *sqlfence.Tx) error { c.newer(); return boom })
			wantVerdict(t, err, c.want, name)
		}
		if d.name != "Postgres" && d.name != "MariaDB" {
			return // the transaction keeps everybody out
		}
		err := b.gate.TxAtCommit(t.Context(), older.Stamp(2), account, func(context.Context, *sqlfence.Tx) error {
			return errors.Join(boom, b.gate.Claim(t.Context(), grant(34).Stamp(1), account))
		})
		wantVerdict(t, err, fencerow.Stale, "a failure while a newer holder has claimed")
		wantError(t, err, "boom", "a failure while a newer holder has claimed")
	})
}
