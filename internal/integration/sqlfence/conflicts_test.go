package sqlfence

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fencerow/fencerow"
	"github.com/fencerow/fencerow/fence/sqlfence"
	"github.com/fencerow/fencerow/fencerowtest"
)

// Two fenced transactions that lock the same rows in opposite orders: the database ends one, and it is run again with the same stamp.
func TestDeadlockIsRetried(t *testing.T) {
	for _, d := range withSessions {
		t.Run(d.name, func(t *testing.T) {
			b := newBank(t, d, nil)
			exec(t, b.db, "INSERT INTO accounts (id) VALUES (43)")
			var bothInside sync.WaitGroup
			bothInside.Add(2)
			transfer := func(resource fencerow.Resource, first, second string) error {
				calls := 0
				token := fencerowtest.Token("test:1", resource, 5)
				return b.gate.Tx(context.Background(), token.Stamp(1), resource, func(ctx context.Context, tx *sqlfence.Tx) error {
					calls++
					if _, err := tx.ExecContext(ctx, "UPDATE accounts SET balance = balance - 1 WHERE id = "+first); err != nil {
						return err
					}
					if calls == 1 {
						bothInside.Done()
						bothInside.Wait()
					}
					_, err := tx.ExecContext(ctx, "UPDATE accounts SET balance = balance + 1 WHERE id = "+second)
					return err
				})
			}
			done := make(chan error, 2)
			go func() { done <- transfer("order/1", "42", "43") }()
			go func() { done <- transfer("order/2", "43", "42") }()
			for range 2 {
				if err := ends(t, done, "a transaction"); err != nil {
					t.Error(err)
				}
			}
			if sum := queryInt(t, b.db, "SELECT sum(balance) FROM accounts"); sum != 2000 {
				t.Errorf("the sum is %d", sum)
			}
		})
	}
}

// What a database cannot serialize just now is a conflict, and nothing was written: lock time-outs, and snapshots that are too old.
func TestWhatIsAConflict(t *testing.T) {
	for name, c := range map[string]struct {
		d      database
		before []string // settings of the session
		code   string
	}{
		"lock timeout, Postgres":   {postgres, []string{"SET lock_timeout = '50ms'"}, "55P03"},
		"lock timeout, MariaDB":    {mariadb, []string{"SET SESSION innodb_lock_wait_timeout = 1"}, "1205"},
		"busy, SQLite":             {sqlite, []string{"PRAGMA busy_timeout = 50"}, "locked"},
		"statement, SQLite, plain": {deferred, []string{"PRAGMA busy_timeout = 50"}, "locked"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBank(t, c.d, nil)
			if err := b.accounts.Claim(t.Context(), grant(5).Stamp(1), key, nil); err != nil {
				t.Fatal(err)
			}
			blocker := begin(t, b.db, sql.LevelDefault)
			execTx(t, blocker, "UPDATE accounts SET balance = balance WHERE id = 42")
			conn, err := b.db.Conn(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			for _, statement := range c.before {
				if _, err := conn.ExecContext(t.Context(), statement); err != nil {
					t.Fatal(err)
				}
			}
			own, err := conn.BeginTx(t.Context(), nil)
			if err == nil {
				defer own.Rollback()
				err = b.accounts.In(own).Update(t.Context(), grant(5).Stamp(1), key, sqlfence.Set("balance = 0"))
			} else {
				err = sqlfence.Answer("begin", err, false) // an immediate transaction waits where it begins
			}
			wantVerdict(t, err, fencerow.Conflict, name)
			wantError(t, err, c.code, name)
			_ = blocker.Rollback()
			if balance := b.balance(t); balance != 1000 {
				t.Errorf("the balance is %d", balance)
			}
		})
	}
	t.Run("snapshot isolation, MariaDB", func(t *testing.T) {
		b := newBank(t, mariadb, nil)
		conn, err := b.db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := conn.ExecContext(t.Context(), "SET SESSION innodb_snapshot_isolation = ON"); err != nil {
			t.Fatal(err)
		}
		steps := sqlfence.Schema{Name: "accounts", Class: "account", Key: []string{"id"}, Step: "fence_step"}
		table, err := sqlfence.OpenTable(t.Context(), b.db, sqlfence.MySQL, steps, nil)
		if err != nil {
			t.Fatal(err)
		}
		tx, err := conn.BeginTx(t.Context(), &sql.TxOptions{Isolation: sql.LevelRepeatableRead})
		if err != nil {
			t.Fatal(err)
		}
		defer tx.Rollback()
		_ = queryInt(t, tx, "SELECT balance FROM accounts")
		exec(t, b.db, "UPDATE accounts SET fence_token = 34")
		err = table.In(tx).Update(t.Context(), grant(33).Stamp(1), key, sqlfence.Set("balance = 0"))
		wantVerdict(t, err, fencerow.Conflict, "a stale write behind a snapshot")
		wantError(t, err, "1020", "a stale write behind a snapshot")
		// With a fresh snapshot the answer is definite.
		wantVerdict(t, table.Update(t.Context(), grant(33).Stamp(1), key, sqlfence.Set("balance = 0")), fencerow.Stale, "the same stamp")
	})
}

// A conflict that does not end is answered in time, and says so.
func TestConflictWithoutEnd(t *testing.T) {
	b := newBank(t, sqlite, nil)
	if err := b.accounts.Claim(t.Context(), grant(5).Stamp(1), key, nil); err != nil {
		t.Fatal(err)
	}
	other := openFile(t, strings.TrimPrefix(fileOf(t, b.db), "file:"), "&_txlock=immediate")
	exec(t, other, "PRAGMA busy_timeout = 0")
	blocker := begin(t, b.db, sql.LevelDefault)
	execTx(t, blocker, "UPDATE accounts SET balance = balance WHERE id = 42")
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	err := b.accounts.Update(ctx, grant(5).Stamp(1), key, sqlfence.Set("balance = 0"))
	if err == nil || errors.Is(err, fencerow.ErrStale) {
		t.Errorf("%v", err)
	}
	_ = blocker.Rollback()
	if balance := b.balance(t); balance != 1000 {
		t.Errorf("the balance is %d", balance)
	}
}

func fileOf(t *testing.T, db *sql.DB) (file string) {
	t.Helper()
	var seq int
	var name string
	if err := db.QueryRow("PRAGMA database_list").Scan(&seq, &name, &file); err != nil {
		t.Fatal(err)
	}
	return file
}
