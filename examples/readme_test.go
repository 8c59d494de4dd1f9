package examples

import (
	"context"
	"fmt"
	"log"

	"github.com/fencerow/fencerow"
	"github.com/fencerow/fencerow/fence/sqlfence"
	"github.com/fencerow/fencerow/lock/sqllock"
)

// The example that opens the README: a fenced transaction under a lock.
func Example_readme() {
	ctx := context.Background()
	db, done := openDatabase()
	defer done()
	mustExec(db, `CREATE TABLE account_balances (account_id TEXT PRIMARY KEY, balance INTEGER NOT NULL)`)
	mustExec(db, `INSERT INTO account_balances VALUES ('42', 1000)`)
	debit := func(ctx context.Context, tx *sqlfence.Tx, amount int) error {
		_, err := tx.ExecContext(ctx, `UPDATE account_balances SET balance = balance - ? WHERE account_id = '42'`, amount)
		return err
	}

	locks, err := sqllock.Open(ctx, db, sqllock.SQLite)
	if err != nil {
		log.Fatal(err)
	}
	gate, err := sqlfence.OpenGate(ctx, db, sqlfence.SQLite, nil)
	if err != nil {
		log.Fatal(err)
	}

	// readme:begin
	locker, err := fencerow.New(locks, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer locker.Close()
	err = locker.Do(ctx, "account/42", func(ctx context.Context, lease *fencerow.Lease) error {
		return gate.Tx(ctx, lease.Stamp(), "account/42", func(ctx context.Context, tx *sqlfence.Tx) error {
			return debit(ctx, tx, 100) // commits only while no newer holder has claimed account/42
		})
	})
	// readme:end
	fmt.Println(err)

	var balance int
	if err := db.QueryRow(`SELECT balance FROM account_balances`).Scan(&balance); err != nil {
		log.Fatal(err)
	}
	fmt.Println("balance:", balance)

	// Output:
	// <nil>
	// balance: 900
}
