package examples

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/sqlitedialect"

	"github.com/fencerow/fencerow"
	"github.com/fencerow/fencerow/fence/sqlfence"
	"github.com/fencerow/fencerow/lock/memlock"
)

// An ORM runs within the gate's transaction: everything that it sends there is fenced, whatever SQL it makes of it. A *sqlfence.Tx is a
// bun.IConn.
func Example_bun() {
	ctx := context.Background()
	db, done := openDatabase()
	defer done()
	mustExec(db, "CREATE TABLE accounts (id INTEGER PRIMARY KEY, balance INTEGER NOT NULL)")
	mustExec(db, "INSERT INTO accounts VALUES (42, 1000)")
	gate, err := sqlfence.OpenGate(ctx, db, sqlfence.SQLite, nil)
	if err != nil {
		log.Fatal(err)
	}
	locker, err := fencerow.New(memlock.New(), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer locker.Close()

	type Account struct {
		ID      int64 `bun:",pk"`
		Balance int64
	}
	orm := bun.NewDB(db, sqlitedialect.New())
	debit := func(lease *fencerow.Lease) error {
		return gate.Tx(ctx, lease.Stamp(), "account/42", func(ctx context.Context, tx *sqlfence.Tx) error {
			account := Account{ID: 42}
			if err := orm.NewSelect().Conn(tx).Model(&account).WherePK().Scan(ctx); err != nil {
				return err
			}
			_, err := orm.NewUpdate().Conn(tx).Model(&account).Set("balance = ?", account.Balance-100).WherePK().Exec(ctx)
			return err
		})
	}
	older, err := locker.Acquire(ctx, "account/42")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(debit(older))
	_ = older.Release(ctx)
	newer, err := locker.Acquire(ctx, "account/42")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(debit(newer))
	fmt.Println(errors.Is(debit(older), fencerow.ErrStale))
	var balance int
	fmt.Println(db.QueryRow("SELECT balance FROM accounts").Scan(&balance), balance)

	// Output:
	// <nil>
	// <nil>
	// true
	// <nil> 800
}
