package examples

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/fencerow/fencerow"
	"github.com/fencerow/fencerow/examples/sqlc/bankdb"
	"github.com/fencerow/fencerow/fence/sqlfence"
	"github.com/fencerow/fencerow/lock/sqllock"
)

// With sqlc the fence is in your own SQL. A column override, see sqlc/sqlc.yaml, gives the fence's columns types that only a stamp makes,
// so that the generated function cannot be called without one; Judge says why a row was not written.
func Example_sqlc() {
	ctx := context.Background()
	db, done := openDatabase()
	defer done()
	schema, err := os.ReadFile("sqlc/schema.sql")
	if err != nil {
		log.Fatal(err)
	}
	mustExec(db, string(schema))
	mustExec(db, "INSERT INTO accounts (id, balance) VALUES (42, 1000)")
	locks, err := sqllock.Open(ctx, db, sqllock.SQLite)
	if err != nil {
		log.Fatal(err)
	}
	locker, err := fencerow.New(locks, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer locker.Close()
	accounts, err := sqlfence.OpenTable(ctx, db, sqlfence.SQLite, sqlfence.Schema{Name: "accounts", Class: "account", Key: []string{"id"}, Step: "fence_step"}, nil)
	if err != nil {
		log.Fatal(err)
	}
	queries := bankdb.New(db)

	debit := func(lease *fencerow.Lease, amount int64) error {
		stamp := lease.Stamp()
		rows, err := queries.Debit(ctx, amount, sqlfence.StepOf(stamp), sqlfence.NumberOf(stamp), 42)
		return accounts.Judge(ctx, stamp, sqlfence.Key{42}, rows, err)
	}
	older, err := locker.Acquire(ctx, "account/42")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("the first holder:", fencerow.VerdictOf(debit(older, 100)))
	if err := older.Release(ctx); err != nil {
		log.Fatal(err)
	}
	newer, err := locker.Acquire(ctx, "account/42")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("the second holder:", fencerow.VerdictOf(debit(newer, 100)))
	fmt.Println("the first holder, late:", fencerow.VerdictOf(debit(older, 100)))
	account, err := queries.Account(ctx, 42)
	fmt.Println(account.Balance, account.FenceToken.Stored() == newer.Token().Number(), err)

	// What was read from a row is no stamp.
	_, err = queries.Debit(ctx, 100, account.FenceStep, account.FenceToken, 42)
	fmt.Println(strings.Contains(err.Error(), "no token was presented"))

	// Output:
	// the first holder: applied
	// the second holder: applied
	// the first holder, late: stale
	// 800 true <nil>
	// true
}

// A call of the generated function without the stamp, or with bare numbers for it, does not compile.
func TestGeneratedCodeNeedsAStamp(t *testing.T) {
	for name, call := range map[string]string{
		"left out": "queries.Debit(ctx, 100, 42)",
		"numbers":  "queries.Debit(ctx, 100, 7, 34, 42)",
		"swapped":  "queries.Debit(ctx, 100, sqlfence.NumberOf(stamp), sqlfence.StepOf(stamp), 42)",
		"":         "queries.Debit(ctx, 100, sqlfence.StepOf(stamp), sqlfence.NumberOf(stamp), 42)", // is right
	} {
		program := t.TempDir() + "/main.go"
		text := `package main
			import ("context"; "github.com/fencerow/fencerow"; "github.com/fencerow/fencerow/examples/sqlc/bankdb"; "github.com/fencerow/fencerow/fence/sqlfence")
			func main() {}
			var _ sqlfence.Number
			func debit(ctx context.Context, queries *bankdb.Queries, stamp fencerow.Stamp) { _, _ = ` + call + ` }`
		if err := os.WriteFile(program, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		output, err := exec.Command("go", "build", "-o", os.DevNull, program).CombinedOutput()
		if name == "" && err != nil {
			t.Errorf("the right call: %s", output)
		}
		if name != "" && (err == nil || !strings.Contains(string(output), "argument")) {
			t.Errorf("%s: %v\n%s", name, err, output)
		}
	}
}
