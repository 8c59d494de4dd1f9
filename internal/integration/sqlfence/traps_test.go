package sqlfence

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/fencerow/fencerow"
	"github.com/fencerow/fencerow/fence/sqlfence"
)

// Each test shows what goes wrong with a fence that is written by hand, on the real database, and that ours does not do it. If a trap is
// gone the test says so: then the care that is taken against it may go too.

func begin(t *testing.T, db *sql.DB, isolation sql.IsolationLevel) *sql.Tx {
	t.Helper()
	tx, err := db.BeginTx(t.Context(), &sql.TxOptions{Isolation: isolation})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tx.Rollback() })
	return tx
}

func execTx(t *testing.T, tx *sql.Tx, statement string, args ...any) int64 {
	t.Helper()
	result, err := tx.ExecContext(t.Context(), statement, args...)
	if err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
	n, err := result.RowsAffected()
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func queryInt(t *testing.T, on interface {
	QueryRowContext(context.Context, string, ...any) *sql.Row
}, query string) (n int64) {
	t.Helper()
	if err := on.QueryRowContext(t.Context(), query).Scan(&n); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return n
}

// A fence without a claim admits an older holder after the newer one has read: the runbook's own test passes only because the newer one
// writes first there.
func TestTrapRowFenceWithoutAClaim(t *testing.T) {
	each(t, func(t *testing.T, d database) {
		b := newBank(t, d, nil)
		debit := func(number, balance int64) int64 {
			result, err := b.db.Exec(d.rebind("UPDATE accounts SET balance = $1, fence_token = $2 WHERE id = 42 AND fence_token < $3"), balance, number, number)
			if err != nil {
				t.Fatal(err)
			}
			n, _ := result.RowsAffected()
			return n
		}
		readByA, readByB := b.balance(t), b.balance(t) // A is frozen after its read
		if a, newer := debit(33, readByA-100), debit(34, readByB-100); a != 1 || newer != 1 || b.balance(t) != 900 {
			t.Fatalf("the trap is gone: %d and %d rows, balance %d", a, newer, b.balance(t))
		}
		// The cure: A's write is refused from B's claim on.
		b = newBank(t, d, nil)
		a, newer := grant(33), grant(34)
		var seenByA, seenByB int64
		for _, err := range []error{
			b.accounts.Claim(t.Context(), a.Stamp(1), key, sqlfence.Into{"balance": &seenByA}),
			b.accounts.Claim(t.Context(), newer.Stamp(1), key, sqlfence.Into{"balance": &seenByB}),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
		wantVerdict(t, b.accounts.Update(t.Context(), a.Stamp(1), key, sqlfence.Set("balance = ?", seenByA-100)), fencerow.Stale, "A's write")
		if err := b.accounts.Update(t.Context(), newer.Stamp(1), key, sqlfence.Set("balance = ?", seenByB-100)); err != nil || b.balance(t) != 900 {
			t.Errorf("B's write: %v, balance %d", err, b.balance(t))
		}
	})
}

// A gate that is read without a lock lets an older holder commit after the newer one has claimed and read. FOR KEY SHARE is no lock
// against a claim.
func TestTrapGateWithoutALock(t *testing.T) {
	for name, c := range map[string]struct {
		lock  string
		waits bool
	}{
		"no lock": {"", false}, "FOR KEY SHARE": {" FOR KEY SHARE", false}, "FOR SHARE": {" FOR SHARE", true},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBank(t, postgres, nil)
			if err := b.gate.Claim(t.Context(), grant(33).Stamp(1), account); err != nil {
				t.Fatal(err)
			}
			older := begin(t, b.db, sql.LevelDefault)
			if n := queryInt(t, older, "SELECT fence_token FROM fencerow_gate"+c.lock); n != 33 {
				t.Fatal(n)
			}
			claimed := make(chan error, 1)
			go func() { claimed <- b.gate.Claim(context.Background(), grant(34).Stamp(1), account) }()
			if c.waits {
				stays(t, claimed, "the claim")
			} else if err := ends(t, claimed, "the claim"); err != nil {
				t.Fatal(err)
			}
			seenByNewer := int64(-1)
			if !c.waits {
				seenByNewer = b.balance(t)
			}
			execTx(t, older, "UPDATE accounts SET balance = balance - 100 WHERE id = 42")
			if err := older.Commit(); err != nil {
				t.Fatal(err)
			}
			if c.waits {
				if err := ends(t, claimed, "the claim"); err != nil {
					t.Fatal(err)
				}
				seenByNewer = b.balance(t)
			}
			if lost := seenByNewer != b.balance(t); lost == c.waits {
				t.Errorf("the newer holder has read %d after its claim, and the balance is %d", seenByNewer, b.balance(t))
			}
		})
	}
}

// One statement that updates and, beside that, selects the token answers with the token from before its wait.
func TestTrapReasonFromTheOldSnapshot(t *testing.T) {
	b := newBank(t, postgres, nil)
	exec(t, b.db, "UPDATE accounts SET fence_token = 10")
	newer := begin(t, b.db, sql.LevelDefault)
	execTx(t, newer, "UPDATE accounts SET fence_token = 34 WHERE id = 42")
	type answer struct {
		seen int64
		err  error
	}
	answers := make(chan answer, 1)
	done := make(chan error, 1)
	go func() {
		var a answer
		a.err = b.db.QueryRow(`WITH u AS (UPDATE accounts SET fence_token = 33 WHERE id = 42 AND fence_token < 33 RETURNING 1)
			SELECT (SELECT fence_token FROM accounts WHERE id = 42) FROM (SELECT count(*) FROM u) AS counted`).Scan(&a.seen)
		answers <- a
		done <- a.err
	}()
	stays(t, done, "the statement")
	if err := newer.Commit(); err != nil {
		t.Fatal(err)
	}
	if err := ends(t, done, "the statement"); err != nil {
		t.Fatal(err)
	}
	if a := <-answers; a.seen != 10 {
		t.Errorf("the trap is gone: it has seen %d", a.seen)
	}
	// The cure reads under the lock: TestUpdateBehindAnUncommittedNewerOne, TestReasonIsReadUnderTheLock.
	var stale *fencerow.StaleError
	steps := sqlfence.Schema{Name: "accounts", Class: "account", Key: []string{"id"}, Step: "fence_step"}
	table, err := sqlfence.OpenTable(t.Context(), b.db, sqlfence.Postgres, steps, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := table.Update(t.Context(), grant(33).Stamp(1), key, sqlfence.Set("balance = 0")); !errors.As(err, &stale) || stale.Stored != 34 {
		t.Errorf("ours: %v", err)
	}
}

// Above READ COMMITTED a predicate that is false in the old snapshot is answered with zero rows and no error, about the past.
func TestTrapZeroRowsAboutThePast(t *testing.T) {
	b := newBank(t, postgres, nil)
	exec(t, b.db, "UPDATE accounts SET fence_token = 50")
	old := begin(t, b.db, sql.LevelRepeatableRead)
	if n := queryInt(t, old, "SELECT fence_token FROM accounts"); n != 50 { // fixes the snapshot
		t.Fatal(n)
	}
	exec(t, b.db, "UPDATE accounts SET fence_token = 20") // an operator has put right what was poisoned
	if n := execTx(t, old, "UPDATE accounts SET balance = 0 WHERE id = 42 AND fence_token < 33"); n != 0 {
		t.Errorf("the trap is gone: %d rows", n)
	}
	table, err := sqlfence.OpenTable(t.Context(), b.db, sqlfence.Postgres, sqlfence.Schema{Name: "accounts", Class: "account", Key: []string{"id"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := table.Update(t.Context(), grant(33).Stamp(1), key, sqlfence.Set("balance = 900")); err != nil {
		t.Errorf("ours, which looks anew: %v", err)
	}
}

// At SERIALIZABLE a gate that is read without a lock is safe only if everybody is serializable.
func TestTrapSerializableIsDefeatedByReadCommitted(t *testing.T) {
	b := newBank(t, postgres, nil)
	if err := b.gate.Claim(t.Context(), grant(33).Stamp(1), account); err != nil {
		t.Fatal(err)
	}
	older := begin(t, b.db, sql.LevelSerializable)
	if n := queryInt(t, older, "SELECT fence_token FROM fencerow_gate"); n != 33 {
		t.Fatal(n)
	}
	if err := b.gate.Claim(t.Context(), grant(34).Stamp(1), account); err != nil { // at READ COMMITTED
		t.Fatal(err)
	}
	execTx(t, older, "UPDATE accounts SET balance = balance - 100 WHERE id = 42")
	if err := older.Commit(); err != nil {
		t.Fatalf("the trap is gone: %v", err)
	}
	// Ours locks the gate at every level: TestClaimWaitsForATransactionInFlight.
	gate, err := sqlfence.OpenGate(t.Context(), b.db, sqlfence.Postgres, &sqlfence.Options{Isolation: sql.LevelSerializable})
	if err != nil {
		t.Fatal(err)
	}
	wantVerdict(t, gate.Tx(t.Context(), grant(33).Stamp(2), account, debit(1)), fencerow.Stale, "the older holder at SERIALIZABLE")
}

// A claim that is written as ON CONFLICT DO UPDATE … WHERE says nothing when it is refused, and MERGE fails when two claims race.
func TestTrapClaimsThatDoNotAnswer(t *testing.T) {
	b := newBank(t, postgres, nil)
	if err := b.gate.Claim(t.Context(), grant(34).Stamp(1), account); err != nil {
		t.Fatal(err)
	}
	var n int64
	err := b.db.QueryRow(`INSERT INTO fencerow_gate AS g (resource, source, fence_token, fence_grant, fence_step) VALUES ('account/42', 's', 33, 'g', 0)
		ON CONFLICT (resource) DO UPDATE SET fence_token = excluded.fence_token WHERE g.fence_token < excluded.fence_token RETURNING fence_token`).Scan(&n)
	if !errors.Is(err, sql.ErrNoRows) {
		t.Errorf("the trap is gone: %v, %d", err, n)
	}
	var stale *fencerow.StaleError
	if err := b.gate.Claim(t.Context(), grant(33).Stamp(1), account); !errors.As(err, &stale) || stale.Stored != 34 {
		t.Errorf("ours: %v", err)
	}

	merge := `MERGE INTO fencerow_gate g USING (VALUES ('account/43', %)) AS v (r, n) ON g.resource = v.r
		WHEN MATCHED AND g.fence_token < v.n THEN UPDATE SET fence_token = v.n
		WHEN NOT MATCHED THEN INSERT (resource, source, fence_token, fence_grant, fence_step) VALUES (v.r, 's', v.n, 'g', 0)`
	first := begin(t, b.db, sql.LevelDefault)
	execTx(t, first, strings.Replace(merge, "%", "1", 1))
	done := make(chan error, 1)
	go func() {
		_, err := b.db.Exec(strings.Replace(merge, "%", "2", 1))
		done <- err
	}()
	stays(t, done, "the second MERGE")
	if err := first.Commit(); err != nil {
		t.Fatal(err)
	}
	var pgErr *pgconn.PgError
	if err := ends(t, done, "the second MERGE"); !errors.As(err, &pgErr) || pgErr.Code != "23505" {
		t.Errorf("the trap is gone: %v", err)
	}
	// Ours: TestRacingFirstClaims.
}

// A COMMIT of a transaction that has failed is answered with ROLLBACK and no error of the server; the driver must look at it.
func TestTrapCommitThatRollsBack(t *testing.T) {
	b := newBank(t, postgres, nil)
	conn, err := b.db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for _, statement := range []string{"BEGIN", "UPDATE accounts SET balance = 0"} {
		if _, err := conn.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	_, _ = conn.ExecContext(t.Context(), "SELECT 1/0")
	if _, err := conn.ExecContext(t.Context(), "COMMIT"); err != nil || b.balance(t) != 1000 {
		t.Errorf("the trap is gone: %v, balance %d", err, b.balance(t))
	}
	// Ours: TestSwallowedErrorIsNotApplied.
}

// Settings of a transaction are empty texts after it, and one that is set outside of a transaction is lost without an error.
func TestTrapSettings(t *testing.T) {
	b := newBank(t, postgres, nil)
	b.db.SetMaxOpenConns(1)
	tx := begin(t, b.db, sql.LevelDefault)
	execTx(t, tx, "SELECT set_config('trap.token', '34', true)")
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	_, err := b.db.Exec("SELECT current_setting('trap.token', true)::bigint")
	var pgErr *pgconn.PgError
	if !errors.As(err, &pgErr) || pgErr.Code != "22P02" {
		t.Errorf("the trap is gone: a cast of the setting gives %v", err)
	}
	exec(t, b.db, "SET LOCAL trap.token = '34'")
	var value string
	if err := b.db.QueryRow("SELECT current_setting('trap.token', true)").Scan(&value); err != nil || value != "" {
		t.Errorf("the trap is gone: outside of a transaction SET LOCAL has set %q, %v", value, err)
	}
	exec(t, b.db, "SELECT set_config('trap.token', '34', false)") // for the session
	if err := b.db.QueryRow("SELECT current_setting('trap.token')").Scan(&value); err != nil || value != "34" {
		t.Errorf("the trap is gone: whoever gets the session next sees %q, %v", value, err)
	}
	// Ours: TestSettingsPresentTheToken.
}

// A policy of row level security that compares tokens hides the row: a stale update is silent.
func TestTrapRowLevelSecurityIsSilent(t *testing.T) {
	b := newBank(t, postgres, nil)
	exec(t, b.db, "UPDATE accounts SET fence_token = 34")
	exec(t, b.db, "ALTER TABLE accounts ENABLE ROW LEVEL SECURITY")
	exec(t, b.db, "ALTER TABLE accounts FORCE ROW LEVEL SECURITY")
	exec(t, b.db, "CREATE POLICY fence ON accounts USING (fence_token <= NULLIF(current_setting('trap.token', true), '')::bigint)")
	role := "fencerow_rls_" + roleSuffix(t, b.db)
	exec(t, b.db, "CREATE ROLE "+role)
	t.Cleanup(func() { _, _ = b.db.Exec("DROP OWNED BY " + role + "; DROP ROLE " + role) })
	exec(t, b.db, "GRANT ALL ON accounts TO "+role)
	tx := begin(t, b.db, sql.LevelDefault)
	execTx(t, tx, "SET LOCAL ROLE "+role)
	execTx(t, tx, "SELECT set_config('trap.token', '33', true)")
	if n := execTx(t, tx, "UPDATE accounts SET balance = 0 WHERE id = 42"); n != 0 {
		t.Errorf("the trap is gone: %d rows", n)
	}
	// The triggers of ours raise an error: TestTriggersRefuseWhatGoesAroundTheFence.
}

// A session that is idle in a transaction for too long is ended by the server, and the claim goes on.
func TestIdleTransactionsCanBeBounded(t *testing.T) {
	b := newBank(t, postgres, nil)
	exec(t, b.db, "ALTER DATABASE "+currentDatabase(t, b.db)+" SET idle_in_transaction_session_timeout = '300ms'")
	b.db.SetMaxIdleConns(0)
	thaw := stuck(t, b, b.gate.Tx)
	if err := b.gate.Claim(t.Context(), grant(34).Stamp(1), account); err != nil {
		t.Fatalf("the claim: %v", err)
	}
	if err := thaw(); !errors.Is(err, fencerow.ErrStale) {
		t.Errorf("the frozen holder is told %v", err)
	}
}

// MySQL assigns from left to right: a guard that is assigned before what it guards compares with itself.
func TestTrapMySQLAssignsFromLeftToRight(t *testing.T) {
	b := newBank(t, mariadb, nil)
	exec(t, b.db, "UPDATE accounts SET fence_token = 5")
	exec(t, b.db, "UPDATE accounts SET fence_token = GREATEST(fence_token, 9), balance = IF(fence_token < 9, 900, balance) WHERE id = 42")
	if n := queryInt(t, b.db, "SELECT fence_token FROM accounts"); n != 9 || b.balance(t) != 1000 {
		t.Errorf("the trap is gone: token %d, balance %d", n, b.balance(t))
	}
	accounts := tombstones(t, b, false)
	if err := accounts.Update(t.Context(), grant(10).Stamp(1), key, sqlfence.Set("balance = 900")); err != nil || b.balance(t) != 900 {
		t.Errorf("ours: %v, balance %d", err, b.balance(t))
	}
}

// By default MySQL counts the rows that were changed: a write of equal values looks refused. Where it counts those that were found, a
// refused upsert looks like an insert.
func TestTrapMySQLCountsRowsInTwoWays(t *testing.T) {
	b := newBank(t, mariadb, nil) // counts what was changed
	exec(t, b.db, "UPDATE accounts SET fence_token = 5, balance = 900")
	result, err := b.db.Exec("UPDATE accounts SET balance = 900, fence_token = 5 WHERE id = 42 AND fence_token <= 5")
	if err != nil {
		t.Fatal(err)
	}
	if n, _ := result.RowsAffected(); n != 0 {
		t.Errorf("the trap is gone: %d rows", n)
	}
	notOlder, err := sqlfence.OpenTable(t.Context(), b.db, sqlfence.MySQL, sqlfence.Schema{Name: "accounts", Class: "account", Key: []string{"id"}, NotOlder: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := notOlder.Update(t.Context(), grant(5).Stamp(1), key, sqlfence.Set("balance = 900")); err != nil {
			t.Errorf("ours, writing what is there: %v", err)
		}
	}

	found := openFoundRows(t, b.db)
	result, err = found.Exec("INSERT INTO accounts (id, balance, fence_token) VALUES (42, 0, 4) ON DUPLICATE KEY UPDATE balance = IF(fence_token < 4, 0, balance)")
	if err != nil {
		t.Fatal(err)
	}
	if n, _ := result.RowsAffected(); n != 1 || b.balance(t) != 900 {
		t.Errorf("the trap is gone: %d rows, balance %d", n, b.balance(t))
	}
	schema := accountSchema
	schema.Grant, schema.Tombstones = "", true
	accounts, err := sqlfence.OpenTable(t.Context(), found, sqlfence.MySQL, schema, nil)
	if err != nil {
		t.Fatal(err)
	}
	wantVerdict(t, accounts.Put(t.Context(), grant(4).Stamp(1), key, sqlfence.Values{"balance": 0}), fencerow.Stale, "our put")
}

// Several rows that may be left as they are cannot be counted in changed rows: that is said, and not guessed.
func TestSeveralRowsNeedFoundRowsWithNotOlder(t *testing.T) {
	b := newBank(t, mariadb, nil)
	exec(t, b.db, "CREATE TABLE invoices (id bigint PRIMARY KEY, tenant bigint NOT NULL, paid bigint NOT NULL DEFAULT 0, fence_token bigint NOT NULL DEFAULT 0)")
	exec(t, b.db, "INSERT INTO invoices (id, tenant) VALUES (1, 42), (2, 42)")
	schema := sqlfence.Schema{Name: "invoices", Class: "account", Key: []string{"tenant"}, NotOlder: true}
	for name, db := range map[string]*sql.DB{"changed": b.db, "found": openFoundRows(t, b.db)} {
		invoices, err := sqlfence.OpenTable(t.Context(), db, sqlfence.MySQL, schema, nil)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			err := invoices.Update(t.Context(), grant(5).Stamp(1), key, sqlfence.Set("paid = 1"), sqlfence.Expect(2))
			if name == "changed" {
				wantError(t, err, "clientFoundRows=true", name)
			} else if err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// At REPEATABLE READ, the default of MySQL, a plain look after a refusal sees the token as it was.
func TestTrapMySQLLooksIntoThePast(t *testing.T) {
	b := newBank(t, mariadb, nil)
	exec(t, b.db, "UPDATE accounts SET fence_token = 10")
	tx := begin(t, b.db, sql.LevelRepeatableRead)
	if n := queryInt(t, tx, "SELECT fence_token FROM accounts"); n != 10 {
		t.Fatal(n)
	}
	exec(t, b.db, "UPDATE accounts SET fence_token = 34")
	if n := execTx(t, tx, "UPDATE accounts SET balance = 0 WHERE id = 42 AND fence_token < 33"); n != 0 {
		t.Fatalf("%d rows", n)
	}
	plain, locking := queryInt(t, tx, "SELECT fence_token FROM accounts"), queryInt(t, tx, "SELECT fence_token FROM accounts FOR UPDATE")
	if plain != 10 || locking != 34 {
		t.Errorf("the trap is gone: %d and %d", plain, locking)
	}
	steps := sqlfence.Schema{Name: "accounts", Class: "account", Key: []string{"id"}, Step: "fence_step"}
	table, err := sqlfence.OpenTable(t.Context(), b.db, sqlfence.MySQL, steps, nil)
	if err != nil {
		t.Fatal(err)
	}
	other := begin(t, b.db, sql.LevelRepeatableRead)
	if n := queryInt(t, other, "SELECT count(*) FROM accounts"); n != 1 {
		t.Fatal(n)
	}
	var stale *fencerow.StaleError
	_ = tx.Rollback()
	if err := table.In(other).Update(t.Context(), grant(33).Stamp(1), key, sqlfence.Set("balance = 0")); !errors.As(err, &stale) || stale.Stored != 34 {
		t.Errorf("ours, in a transaction with an old snapshot: %v", err)
	}
}

// UPDATE … RETURNING is a syntax error there, which is why claims take two statements.
func TestTrapMySQLHasNoUpdateReturning(t *testing.T) {
	b := newBank(t, mariadb, nil)
	if _, err := b.db.Query("UPDATE accounts SET balance = 0 RETURNING balance"); err == nil || !strings.Contains(err.Error(), "1064") {
		t.Errorf("the trap is gone: %v", err)
	}
}

// A transaction of SQLite that reads before it writes, and is not immediate, fails when somebody else has written between: at once, whatever
// the busy timeout. The gate writes first.
func TestTrapSQLiteSnapshotIsBusy(t *testing.T) {
	b := newBank(t, deferred, nil)
	tx := begin(t, b.db, sql.LevelDefault)
	_ = queryInt(t, tx, "SELECT balance FROM accounts")
	exec(t, b.db, "UPDATE accounts SET balance = 900")
	_, err := tx.Exec("UPDATE accounts SET balance = 800")
	var code interface{ Code() int }
	if !errors.As(err, &code) || code.Code() != 517 {
		t.Errorf("the trap is gone: %v", err)
	}
	_ = tx.Rollback()
	if err := b.gate.Tx(t.Context(), grant(5).Stamp(1), account, debit(100)); err != nil || b.balance(t) != 800 {
		t.Errorf("ours: %v, balance %d", err, b.balance(t))
	}
}

// A trigger of SQLite that compares tokens is passed by whoever does not mention the token, and by INSERT OR REPLACE.
func TestTrapSQLiteTriggersThatCompareOnly(t *testing.T) {
	b := newBank(t, sqlite, nil)
	exec(t, b.db, "UPDATE accounts SET fence_token = 34")
	exec(t, b.db, "CREATE TRIGGER naive BEFORE UPDATE ON accounts WHEN NEW.fence_token < OLD.fence_token BEGIN SELECT RAISE(ABORT, 'stale'); END")
	exec(t, b.db, "UPDATE accounts SET balance = 1")
	exec(t, b.db, "INSERT OR REPLACE INTO accounts (id, balance, fence_token) VALUES (42, 2, 33)")
	if n := queryInt(t, b.db, "SELECT fence_token FROM accounts"); n != 33 || b.balance(t) != 2 {
		t.Errorf("the trap is gone: token %d, balance %d", n, b.balance(t))
	}
	// Ours: TestTriggersRefuseWhatGoesAroundTheFence, TestUpsertsMeetTheTriggers.
}

// SELECT … FOR SHARE is refused in a read-only transaction, and so on a standby: a fenced read needs the primary, and says so.
func TestFencedReadsNeedThePrimary(t *testing.T) {
	b := newBank(t, postgres, nil)
	if err := b.gate.Claim(t.Context(), grant(5).Stamp(1), account); err != nil {
		t.Fatal(err)
	}
	exec(t, b.db, "ALTER DATABASE "+currentDatabase(t, b.db)+" SET default_transaction_read_only = on")
	b.db.SetMaxIdleConns(0)
	err := b.gate.Shared(t.Context(), grant(5).Stamp(1), account, func(context.Context, *sqlfence.Tx) error { return nil })
	wantError(t, err, "accepts no writes", "a fenced read")
}
