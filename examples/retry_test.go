package examples

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/fencerow/fencerow"
	"github.com/fencerow/fencerow/fence/sqlfence"
	"github.com/fencerow/fencerow/lock/sqllock"
)

// Claim, read, write on one row, and a retry with the same stamp: however often it is sent, it is applied once.
func Example_claimAndRetry() {
	ctx := context.Background()
	db, done := openDatabase()
	defer done()
	mustExec(db, `CREATE TABLE account_balances (
		account_id  TEXT PRIMARY KEY,
		balance     INTEGER NOT NULL,
		fence_token INTEGER NOT NULL DEFAULT 0,
		fence_step  INTEGER NOT NULL DEFAULT 0,
		fence_grant TEXT    NOT NULL DEFAULT '')`)
	mustExec(db, `INSERT INTO account_balances (account_id, balance) VALUES ('42', 1000)`)

	locks, err := sqllock.Open(ctx, db, sqllock.SQLite)
	if err != nil {
		log.Fatal(err)
	}
	locker, err := fencerow.New(locks, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer locker.Close()
	accounts, err := sqlfence.OpenTable(ctx, db, sqlfence.SQLite, sqlfence.Schema{
		Name: "account_balances", Class: "account", Key: []string{"account_id"}, Step: "fence_step", Grant: "fence_grant",
	}, nil)
	if err != nil {
		log.Fatal(err)
	}

	err = locker.Do(ctx, "account/42", func(ctx context.Context, lease *fencerow.Lease) error {
		stamp, key := lease.Stamp(), sqlfence.Key{"42"}
		var balance int
		if err := accounts.Claim(ctx, stamp, key, sqlfence.Into{"balance": &balance}); err != nil {
			return err
		}
		for attempt := 1; attempt <= 2; attempt++ {
			err := accounts.Update(ctx, stamp, key, sqlfence.Set("balance = ?", balance-100))
			fmt.Printf("attempt %d: %s\n", attempt, fencerow.VerdictOf(err))
			if err != nil && !errors.Is(err, fencerow.ErrDuplicate) {
				return err
			}
		}
		return nil
	})
	fmt.Println(err)

	// Output:
	// attempt 1: applied
	// attempt 2: duplicate
	// <nil>
}
