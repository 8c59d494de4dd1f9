package sqlfence

import (
	"context"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/fencerow/fencerow"
	"github.com/fencerow/fencerow/fence/sqlfence"
)

func TestTransactionEndsWithItsFunction(t *testing.T) {
	boom := errors.New("boom")
	each(t, func(t *testing.T, d database) {
		b := newBank(t, d, nil)
		g := grant(5)
		err := b.gate.Tx(t.Context(), g.Stamp(1), account, func(ctx context.Context, tx *sqlfence.Tx) error {
			return errors.Join(debit(100)(ctx, tx), boom)
		})
		if !errors.Is(err, boom) || b.balance(t) != 1000 {
			t.Errorf("a function that fails: %v, balance %d", err, b.balance(t))
		}
		// The stamp was not recorded either: the same stamp may be sent again.
		if err := b.gate.Tx(t.Context(), g.Stamp(1), account, debit(100)); err != nil || b.balance(t) != 900 {
			t.Errorf("the same stamp after a failure: %v, balance %d", err, b.balance(t))
		}
		// The claim stands, whatever became of the work.
		wantVerdict(t, b.gate.Claim(t.Context(), grant(4).Stamp(1), account), fencerow.Stale, "an older claim")
	})
}

func TestPanicRollsBackAndGoesOn(t *testing.T) {
	each(t, func(t *testing.T, d database) {
		b := newBank(t, d, nil)
		b.db.SetMaxOpenConns(1) // a connection that is not given back would block what follows
		func() {
			defer func() {
				if recover() != "boom" {
					t.Error("the panic was swallowed")
				}
			}()
			_ = b.gate.Tx(t.Context(), grant(5).Stamp(1), account, func(ctx context.Context, tx *sqlfence.Tx) error {
				_ = debit(100)(ctx, tx)
				panic("boom")
			})
		}()
		if balance := b.balance(t); balance != 1000 {
			t.Errorf("the balance is %d after a panic", balance)
		}
	})
}

func TestFunctionThatEndsTheTransactionItself(t *testing.T) {
	each(t, func(t *testing.T, d database) {
		b := newBank(t, d, nil)
		calls := 0
		err := b.gate.Tx(t.Context(), grant(5).Stamp(1), account, func(ctx context.Context, tx *sqlfence.Tx) error {
			calls++
			return errors.Join(debit(100)(ctx, tx), tx.SQL().Commit())
		})
		if err != nil || calls != 1 || b.balance(t) != 900 {
			t.Errorf("it commits: %v after %d calls, balance %d; want applied once", err, calls, b.balance(t))
		}
		err = b.gate.Tx(t.Context(), grant(5).Stamp(2), account, func(ctx context.Context, tx *sqlfence.Tx) error {
			return errors.Join(debit(100)(ctx, tx), tx.SQL().Rollback())
		})
		if err == nil || b.balance(t) != 900 {
			t.Errorf("it rolls back: %v, balance %d; want an error and nothing written", err, b.balance(t))
		}
	})
}

// On Postgres a failed statement aborts the transaction; its COMMIT is answered with ROLLBACK and no error of the server.
func TestSwallowedErrorIsNotApplied(t *testing.T) {
	b := newBank(t, postgres, nil)
	err := b.gate.Tx(t.Context(), grant(5).Stamp(1), account, func(ctx context.Context, tx *sqlfence.Tx) error {
		_ = debit(100)(ctx, tx)
		_, _ = tx.ExecContext(ctx, "SELECT 1/0")
		return nil
	})
	if err == nil || errors.Is(err, fencerow.ErrAmbiguous) || b.balance(t) != 1000 {
		t.Errorf("%v, balance %d; want a definite error", err, b.balance(t))
	}
}

// A serialization failure inside the function is retried with the same stamp, and the function is called again.
func TestConflictOfTheFunctionIsRetried(t *testing.T) {
	b := newBank(t, postgres, &sqlfence.Options{Isolation: 6}) // serializable
	exec(t, b.db, "CREATE TABLE other (id bigint PRIMARY KEY, n bigint NOT NULL)")
	exec(t, b.db, "INSERT INTO other VALUES (1, 0)")
	calls := 0
	err := b.gate.Tx(t.Context(), grant(5).Stamp(1), account, func(ctx context.Context, tx *sqlfence.Tx) error {
		calls++
		var n int
		if err := tx.QueryRowContext(ctx, "SELECT n FROM other WHERE id = 1").Scan(&n); err != nil {
			return err
		}
		if calls == 1 { // somebody gets in between
			exec(t, b.db, "UPDATE other SET n = n + 10 WHERE id = 1")
		}
		if _, err := tx.ExecContext(ctx, "UPDATE other SET n = $1 WHERE id = 1", n+1); err != nil {
			return err
		}
		return debit(100)(ctx, tx)
	})
	var n int
	if scanErr := b.db.QueryRow("SELECT n FROM other").Scan(&n); scanErr != nil {
		t.Fatal(scanErr)
	}
	if err != nil || calls != 2 || n != 11 || b.balance(t) != 900 {
		t.Errorf("%v after %d calls, n %d, balance %d", err, calls, n, b.balance(t))
	}
}

func TestErrorsOfTheDriverStayReachable(t *testing.T) {
	b := newBank(t, postgres, nil)
	var pgErr *pgconn.PgError
	err := b.gate.Tx(t.Context(), grant(5).Stamp(1), account, func(ctx context.Context, tx *sqlfence.Tx) error {
		_, err := tx.ExecContext(ctx, "SELECT 1/0")
		return err
	})
	if !errors.As(err, &pgErr) || pgErr.Code != "22012" {
		t.Errorf("from the function: %v", err)
	}
	if err := b.accounts.Claim(t.Context(), grant(5).Stamp(1), key, nil); err != nil {
		t.Fatal(err)
	}
	err = b.accounts.Update(t.Context(), grant(6).Stamp(2), key, sqlfence.Set("no_such_column = 1"))
	if !errors.As(err, &pgErr) || pgErr.Code != "42703" {
		t.Errorf("from an update: %v", err)
	}
	wantVerdict(t, err, fencerow.Failed, "a statement that the database does not understand")
}

func TestAdmitIsTheGateInYourOwnTransaction(t *testing.T) {
	each(t, func(t *testing.T, d database) {
		b := newBank(t, d, nil)
		g := grant(5)
		attempt := func(stamp fencerow.Stamp, resource fencerow.Resource) error {
			tx, err := b.db.BeginTx(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = tx.Rollback() }()
			passed, err := b.gate.Admit(t.Context(), tx, stamp, resource)
			if err != nil {
				return err
			}
			if passed.Stamp() != stamp || passed.SQL() != tx {
				t.Error("the transaction that passed is another one")
			}
			if err := debit(100)(t.Context(), passed); err != nil {
				return err
			}
			return tx.Commit()
		}
		wantVerdict(t, attempt(g.Stamp(1), account), fencerow.Unclaimed, "before the claim")
		if err := b.gate.Claim(t.Context(), g.Stamp(1), account); err != nil {
			t.Fatal(err)
		}
		wantVerdict(t, attempt(g.Stamp(1), account), fencerow.Applied, "after the claim")
		wantVerdict(t, attempt(g.Stamp(1), account), fencerow.Duplicate, "the same stamp")
		wantVerdict(t, attempt(fencerow.Stamp{}, account), fencerow.Unfenced, "no stamp")
		wantVerdict(t, attempt(g.Stamp(2), "account/43"), fencerow.SourceMismatch, "a stamp of another resource")
		wantVerdict(t, attempt(grant(4).Stamp(1), account), fencerow.Stale, "an older grant")
		wantVerdict(t, attempt(grant(5).Stamp(9), account), fencerow.TokenReused, "another grant of the same number")
		if balance := b.balance(t); balance != 900 {
			t.Errorf("the balance is %d, one debit of 100 was admitted", balance)
		}
	})
}

func TestZeroTxPassesNothing(t *testing.T) {
	var tx sqlfence.Tx
	_, execErr := tx.ExecContext(t.Context(), "SELECT 1")
	_, queryErr := tx.QueryContext(t.Context(), "SELECT 1")
	_, prepareErr := tx.PrepareContext(t.Context(), "SELECT 1")
	var n int
	for _, err := range []error{execErr, queryErr, prepareErr, tx.QueryRowContext(t.Context(), "SELECT 1").Scan(&n)} {
		if !errors.Is(err, fencerow.ErrNoToken) {
			t.Errorf("%v, want ErrNoToken", err)
		}
	}
}

func TestEachAnswerIsToldOnce(t *testing.T) {
	each(t, func(t *testing.T, d database) {
		var told []fencerow.Decision
		b := newBank(t, d, &sqlfence.Options{Observer: &fencerow.Observer{
			Decided: func(_ context.Context, d fencerow.Decision) { told = append(told, d) },
		}})
		g := grant(5)
		_ = b.gate.Tx(t.Context(), g.Stamp(1), account, debit(1))
		_ = b.gate.Tx(t.Context(), g.Stamp(1), account, debit(1))
		_ = b.gate.Shared(t.Context(), g.Stamp(2), account, debit(1))
		_ = b.gate.Tx(t.Context(), grant(4).Stamp(1), account, debit(1))
		_ = b.accounts.Claim(t.Context(), g.Stamp(2), key, nil)
		_ = b.accounts.Update(t.Context(), g.Stamp(3), key, sqlfence.Set("balance = 0"), sqlfence.Where("balance > ?", 5000))
		want := []struct {
			operation fencerow.Operation
			verdict   fencerow.Verdict
		}{
			{fencerow.Claim, fencerow.Applied}, {fencerow.Write, fencerow.Applied}, {fencerow.Write, fencerow.Duplicate},
			{fencerow.Read, fencerow.Applied}, {fencerow.Write, fencerow.Stale}, {fencerow.Claim, fencerow.Applied},
			{fencerow.Write, fencerow.Rejected},
		}
		if len(told) != len(want) {
			t.Fatalf("%d answers were told: %+v", len(told), told)
		}
		for i, w := range want {
			if told[i].Operation != w.operation || told[i].Verdict != w.verdict || told[i].Stamp.Token().IsZero() || (told[i].Err == nil) != (w.verdict == fencerow.Applied) {
				t.Errorf("answer %d is %+v, want %+v", i, told[i], w)
			}
		}
	})
}
