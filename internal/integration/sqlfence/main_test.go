// Package sqlfence tests the SQL fence against real databases: what the conformance kit does not provoke.
package sqlfence

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/fencerow/fencerow"
	"github.com/fencerow/fencerow/fence/sqlfence"
	"github.com/fencerow/fencerow/fencerowtest"
	"github.com/fencerow/fencerow/internal/integration/servers"

	_ "modernc.org/sqlite" // the driver of the SQLite tests
)

func TestMain(m *testing.M) {
	actAsWriter()
	servers.Main(m)
}

// database is a dialect and how to get a database of its own.
type database struct {
	name    string
	dialect sqlfence.Dialect
	open    func(testing.TB) *sql.DB
}

var (
	postgres  = database{"Postgres", sqlfence.Postgres, func(tb testing.TB) *sql.DB { return servers.Postgres(tb) }}
	sqlite    = database{"SQLite", sqlfence.SQLite, func(tb testing.TB) *sql.DB { return openSQLite(tb, "&_txlock=immediate") }}
	deferred  = database{"SQLite, deferred", sqlfence.SQLite, func(tb testing.TB) *sql.DB { return openSQLite(tb, "") }}
	mariadb   = database{"MariaDB", sqlfence.MySQL, func(tb testing.TB) *sql.DB { return servers.MariaDB(tb) }}
	databases = []database{postgres, mariadb, sqlite, deferred}
)

// rebind writes the placeholders of a statement of the tests, which are $1, $2, ..., once each and in order, as the dialect does.
func (d database) rebind(statement string) string {
	if d.dialect.Name() != "mysql" {
		return statement
	}
	return regexp.MustCompile(`\$\d`).ReplaceAllString(statement, "?")
}

// ddl writes a statement of the tests as the dialect does: MySQL quotes names with backquotes and has no keys of type text.
func (d database) ddl(statement string) string {
	if d.dialect.Name() != "mysql" {
		return statement
	}
	if strings.Contains(statement, `"my ""odd""`) || statement == `"select"` {
		statement = strings.NewReplacer(`""`, `"`, `"`, "`").Replace(statement)
	}
	return regexp.MustCompile(`\btext\b`).ReplaceAllString(statement, "varchar(200) CHARACTER SET utf8mb4")
}

// openFoundRows opens the database of a connection again, so that rows that were found are counted.
func openFoundRows(tb testing.TB, db *sql.DB) *sql.DB {
	tb.Helper()
	var name string
	var port int
	if err := db.QueryRow("SELECT DATABASE(), @@port").Scan(&name, &port); err != nil {
		tb.Fatal(err)
	}
	found, err := sql.Open("mysql", fmt.Sprintf("root@tcp(127.0.0.1:%d)/%s?clientFoundRows=true", port, name))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = found.Close() })
	return found
}

func openSQLite(tb testing.TB, params string) *sql.DB {
	tb.Helper()
	return openFile(tb, filepath.Join(tb.TempDir(), "test.db"), params)
}

func openFile(tb testing.TB, file, params string) *sql.DB {
	tb.Helper()
	db, err := sql.Open("sqlite", "file:"+file+"?_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)"+params)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = db.Close() })
	return db
}

// each runs a test on every database.
func each(t *testing.T, test func(*testing.T, database)) {
	for _, d := range databases {
		t.Run(d.name, func(t *testing.T) { test(t, d) })
	}
}

func exec(tb testing.TB, db *sql.DB, statement string, args ...any) {
	tb.Helper()
	if _, err := db.ExecContext(context.Background(), statement, args...); err != nil {
		tb.Fatalf("%s: %v", statement, err)
	}
}

// bank is a database with account 42, which holds 1000, fenced by its row and by a gate.
type bank struct {
	database
	db       *sql.DB
	accounts *sqlfence.Table
	gate     *sqlfence.Gate
}

const (
	account  = fencerow.Resource("account/42")
	accountN = "SELECT balance FROM accounts WHERE id = 42"
)

var key = sqlfence.Key{42}

var accountSchema = sqlfence.Schema{Name: "accounts", Class: "account", Key: []string{"id"}, Step: "fence_step", Grant: "fence_grant"}

const createAccounts = `CREATE TABLE accounts (
	id          bigint NOT NULL PRIMARY KEY,
	balance     bigint NOT NULL DEFAULT 1000,
	fence_token bigint NOT NULL DEFAULT 0,
	fence_step  bigint NOT NULL DEFAULT 0,
	fence_grant varchar(200) NOT NULL DEFAULT '')`

func newBank(tb testing.TB, d database, opts *sqlfence.Options) *bank {
	tb.Helper()
	b := &bank{database: d, db: d.open(tb)}
	exec(tb, b.db, d.ddl(createAccounts))
	exec(tb, b.db, "INSERT INTO accounts (id) VALUES (42)")
	b.accounts, b.gate = openFences(tb, d, b.db, opts)
	return b
}

func openFences(tb testing.TB, d database, db *sql.DB, opts *sqlfence.Options) (*sqlfence.Table, *sqlfence.Gate) {
	tb.Helper()
	accounts, err := sqlfence.OpenTable(context.Background(), db, d.dialect, accountSchema, opts)
	if err != nil {
		tb.Fatal(err)
	}
	gate, err := sqlfence.OpenGate(context.Background(), db, d.dialect, opts)
	if err != nil {
		tb.Fatal(err)
	}
	return accounts, gate
}

func (b *bank) balance(tb testing.TB) (balance int64) {
	tb.Helper()
	if err := b.db.QueryRow(accountN).Scan(&balance); err != nil {
		tb.Fatal(err)
	}
	return balance
}

// grant returns a token of account 42.
func grant(number int64) fencerow.Token { return fencerowtest.Token("test:1", account, number) }

// debit is a function for the gate.
func debit(amount int) func(context.Context, *sqlfence.Tx) error {
	return func(ctx context.Context, tx *sqlfence.Tx) error {
		_, err := tx.ExecContext(ctx, fmt.Sprintf("UPDATE accounts SET balance = balance - %d WHERE id = 42", amount))
		return err
	}
}

func wantVerdict(tb testing.TB, err error, want fencerow.Verdict, what string) {
	tb.Helper()
	if got := fencerow.VerdictOf(err); got != want {
		tb.Errorf("%s: %s (%v), want %s", what, got, err, want)
	}
}

func wantError(tb testing.TB, err error, says, what string) {
	tb.Helper()
	if err == nil || !strings.Contains(err.Error(), says) {
		tb.Errorf("%s: %v, want an error that says %q", what, err, says)
	}
}

// stays asserts that something goes on for a moment.
func stays(tb testing.TB, done <-chan error, what string) {
	tb.Helper()
	select {
	case err := <-done:
		tb.Fatalf("%s did not wait: %v", what, err)
	case <-time.After(150 * time.Millisecond):
	}
}

// ends waits for something that should end now.
func ends(tb testing.TB, done <-chan error, what string) error {
	tb.Helper()
	select {
	case err := <-done:
		return err
	case <-time.After(20 * time.Second):
		tb.Fatalf("%s does not end", what)
		return nil
	}
}
