package examples

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/fencerow/fencerow"
	"github.com/fencerow/fencerow/fence/sqlfence"
	"github.com/fencerow/fencerow/lock/sqllock"
)

// The runbook's own test: worker A is granted a lease of one second and sleeps through it; worker B takes over and debits 100;
// A wakes and is refused. Exactly one debit is made.
func Example_runbook() {
	ctx := context.Background()
	db, done := openDatabase()
	defer done()
	mustExec(db, `CREATE TABLE account_balances (
		account_id  TEXT PRIMARY KEY,
		balance     INTEGER NOT NULL,
		fence_token INTEGER NOT NULL DEFAULT 0)`)
	mustExec(db, `INSERT INTO account_balances (account_id, balance) VALUES ('acct_fence_probe', 1000)`)

	locks, err := sqllock.Open(ctx, db, sqllock.SQLite)
	if err != nil {
		log.Fatal(err)
	}
	short, err := fencerow.New(locks, &fencerow.Options{TTL: time.Second, NoRenewal: true})
	if err != nil {
		log.Fatal(err)
	}
	defer short.Close()
	long, err := fencerow.New(locks, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer long.Close()

	// The table has the runbook's one column, so each grant writes a row once.
	accounts, err := sqlfence.OpenTable(ctx, db, sqlfence.SQLite,
		sqlfence.Schema{Name: "account_balances", Class: "account", Key: []string{"account_id"}}, nil)
	if err != nil {
		log.Fatal(err)
	}
	debit := func(lease *fencerow.Lease) error {
		return accounts.Update(ctx, lease.Stamp(), sqlfence.Key{"acct_fence_probe"}, sqlfence.Set("balance = balance - ?", 100))
	}

	a, err := short.Acquire(ctx, "account/acct_fence_probe") // token N
	if err != nil {
		log.Fatal(err)
	}
	time.Sleep(1500 * time.Millisecond)                     // the lease of A ends
	b, err := long.Acquire(ctx, "account/acct_fence_probe") // token N+1
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("B debits:", debit(b)) // B writes first
	err = debit(a)                     // A wakes and tries
	fmt.Println("A debits:", err)
	fmt.Println("A is refused as stale:", errors.Is(err, fencerow.ErrStale))

	var balance, token int64
	if err := db.QueryRow(`SELECT balance, fence_token FROM account_balances`).Scan(&balance, &token); err != nil {
		log.Fatal(err)
	}
	fmt.Println("balance:", balance, "token:", token)
	fmt.Println("B releases:", b.Release(ctx))

	// Output:
	// B debits: <nil>
	// A debits: fencerow: token 1 of account/acct_fence_probe is stale, the resource has seen 2; stop the work of this grant
	// A is refused as stale: true
	// balance: 900 token: 2
	// B releases: <nil>
}
