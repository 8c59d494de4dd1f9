package sqlfence

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"

	"github.com/fencerow/fencerow"
	"github.com/fencerow/fencerow/fence"
	"github.com/fencerow/fencerow/fence/sqlfence"
	"github.com/fencerow/fencerow/fencerowtest"
)

func enforce(t *testing.T, b *bank, e sqlfence.Enforcement) {
	t.Helper()
	if err := sqlfence.CreateTriggers(t.Context(), b.db, b.dialect, e); err != nil {
		t.Fatal(err)
	}
}

// plain sends a statement as an application does that does not know the fence, and returns what the trigger says.
func (b *bank) plain(statement string) error {
	_, err := b.db.Exec(b.rebind(statement))
	return sqlfence.Refusal(err)
}

// Whoever sends it: what goes around the fence is refused, and what goes through it is not.
func TestTriggersRefuseWhatGoesAroundTheFence(t *testing.T) {
	each(t, func(t *testing.T, d database) {
		b := newBank(t, d, nil)
		accounts := tombstones(t, b, true)
		enforce(t, b, sqlfence.Enforcement{Schema: accountSchema, Mode: sqlfence.Enforce})
		older, newer := grant(33), grant(34)
		through := func(what string, err error) {
			t.Helper()
			if err != nil {
				t.Errorf("%s: %v", what, err)
			}
		}
		through("claim", accounts.Claim(t.Context(), older.Stamp(1), key, nil))
		through("claim again", accounts.Claim(t.Context(), older.Stamp(1), key, nil))
		through("update", accounts.Update(t.Context(), older.Stamp(1), key, sqlfence.Set("balance = 900")))
		through("newer claim", accounts.Claim(t.Context(), newer.Stamp(1), key, nil))

		for statement, want := range map[string]error{
			"UPDATE accounts SET balance = 0":                                                                   fencerow.ErrUnfenced,
			"UPDATE accounts SET balance = 0, fence_token = 34":                                                 fencerow.ErrUnfenced,
			"UPDATE accounts SET balance = 0, fence_token = 33":                                                 fencerow.ErrStale,
			"UPDATE accounts SET balance = 0, fence_token = 0":                                                  fencerow.ErrUnfenced,
			"UPDATE accounts SET id = 43, fence_token = 35":                                                     sqlfence.ErrNotKept,
			"DELETE FROM accounts":                                                                              sqlfence.ErrNotKept,
			"INSERT INTO accounts (id, balance) VALUES (43, 0)":                                                 fencerow.ErrUnfenced,
			"INSERT INTO accounts (id, balance, fence_token, fence_step, fence_grant) VALUES (44, 0, 0, 0, '')": fencerow.ErrUnfenced,
		} {
			if err := b.plain(statement); !errors.Is(err, want) {
				t.Errorf("%s: %v, want %v", statement, err, want)
			}
		}
		if balance := b.balance(t); balance != 900 {
			t.Errorf("the balance is %d", balance)
		}
		through("update of the newer holder", accounts.Update(t.Context(), newer.Stamp(2), key, sqlfence.Set("balance = 800")))
		through("delete", accounts.Delete(t.Context(), newer.Stamp(3), key))
		err := b.plain("INSERT INTO accounts (id, balance, fence_token, fence_step, fence_grant) VALUES (42, 666, 33, 99, 'g')")
		if !errors.Is(err, fencerow.ErrStale) {
			t.Errorf("an insert of the older holder after the delete: %v", err)
		}
		through("put", accounts.Put(t.Context(), newer.Stamp(4), key, sqlfence.Values{"balance": 700}))
		through("put over it", accounts.Put(t.Context(), newer.Stamp(5), key, sqlfence.Values{"balance": 600}))
		through("override", accounts.Override(t.Context(), key, fence.Override{Number: 7, By: "ann", Why: "a test"}))
		if err := b.plain("UPDATE accounts SET balance = 0, fence_token = 6"); !errors.Is(err, fencerow.ErrStale) {
			t.Errorf("a number below the override: %v", err)
		}
		var n int64
		if err := b.db.QueryRow("SELECT fence_token FROM accounts").Scan(&n); err != nil || n != 7 {
			t.Errorf("after the override the row stores %d, %v", n, err)
		}

		if err := sqlfence.DropTriggers(t.Context(), b.db, b.dialect, "accounts"); err != nil {
			t.Fatal(err)
		}
		through("plain SQL after the triggers are dropped", b.plain("UPDATE accounts SET balance = 1"))
	})
}

// A stale write that names both numbers says so by its verdict, also through the fence's own operations.
func TestTriggerNamesTheNumbers(t *testing.T) {
	for _, d := range []database{postgres, mariadb} {
		b := newBank(t, d, nil)
		enforce(t, b, sqlfence.Enforcement{Schema: accountSchema, Mode: sqlfence.Enforce})
		if err := b.plain("UPDATE accounts SET fence_token = 34"); err != nil {
			t.Fatal(err)
		}
		var stale *fencerow.StaleError
		err := b.plain("UPDATE accounts SET fence_token = 33")
		if !errors.As(err, &stale) || stale.Presented != 33 || stale.Stored != 34 || stale.Resource != account {
			t.Errorf("%s: %v", d.name, err)
		}
	}
}

// In log-only mode everything goes through, and what would be refused is on record.
func TestTriggersThatOnlyLog(t *testing.T) {
	each(t, func(t *testing.T, d database) {
		b := newBank(t, d, nil)
		enforce(t, b, sqlfence.Enforcement{Schema: accountSchema, Mode: sqlfence.LogOnly})
		if err := b.accounts.Claim(t.Context(), grant(34).Stamp(1), key, nil); err != nil {
			t.Fatal(err)
		}
		for _, statement := range []string{
			"UPDATE accounts SET balance = 1",
			"UPDATE accounts SET balance = 2, fence_token = 33",
			"INSERT INTO accounts (id, balance) VALUES (43, 0)",
			"DELETE FROM accounts WHERE id = 43",
		} {
			if err := b.plain(statement); err != nil {
				t.Errorf("%s: %v", statement, err)
			}
		}
		if balance := b.balance(t); balance != 2 {
			t.Errorf("the balance is %d", balance)
		}
		rows, err := b.db.Query("SELECT operation, reason, resource FROM fencerow_violation ORDER BY id")
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		var found []string
		for rows.Next() {
			var operation, reason, resource string
			if err := rows.Scan(&operation, &reason, &resource); err != nil {
				t.Fatal(err)
			}
			found = append(found, operation+" "+reason+" "+resource)
		}
		want := "UPDATE unfenced account/42, UPDATE stale account/42, INSERT unfenced account/43, DELETE delete account/43"
		if got := strings.Join(found, ", "); got != want {
			t.Errorf("the record is %s, want %s", got, want)
		}
		var n int64
		if err := b.db.QueryRow("SELECT fence_token FROM accounts").Scan(&n); err != nil || n != 34 && d.dialect.Name() != "sqlite" {
			t.Errorf("the mark went down to %d, %v", n, err)
		}
		// Enforcing is one call more.
		enforce(t, b, sqlfence.Enforcement{Schema: accountSchema, Mode: sqlfence.Enforce})
		if err := b.plain("UPDATE accounts SET balance = 3"); !errors.Is(err, fencerow.ErrUnfenced) {
			t.Errorf("after Enforce: %v", err)
		}
	})
}

// The kit's strictest form stays what it is under its own trigger.
func TestFenceUnderItsOwnTriggers(t *testing.T) {
	each(t, func(t *testing.T, d database) {
		b := newBank(t, d, nil)
		enforce(t, b, sqlfence.Enforcement{Schema: accountSchema, Mode: sqlfence.Enforce})
		older, newer := grant(33), grant(34)
		for _, err := range []error{
			b.accounts.Claim(t.Context(), older.Stamp(1), key, nil),
			b.accounts.Update(t.Context(), older.Stamp(1), key, sqlfence.Set("balance = 900")),
			b.accounts.Claim(t.Context(), newer.Stamp(1), key, nil),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
		wantVerdict(t, b.accounts.Update(t.Context(), older.Stamp(2), key, sqlfence.Set("balance = 0")), fencerow.Stale, "stale")
		wantVerdict(t, b.accounts.Claim(t.Context(), grant(34).Stamp(1), key, nil), fencerow.TokenReused, "reused")
		wantVerdict(t, b.accounts.Update(t.Context(), newer.Stamp(1), key, sqlfence.Set("balance = 0"), sqlfence.Where("balance = 1")), fencerow.Rejected, "rejected")
	})
}

func TestTriggersOfHostileNamesAndCompositeKeys(t *testing.T) {
	each(t, func(t *testing.T, d database) {
		db := d.open(t)
		exec(t, db, d.ddl(`CREATE TABLE "my ""odd"" table; --" ("the region" text, "the ID" bigint, "select" bigint DEFAULT 0, "Token" bigint DEFAULT 0, "step ?" bigint DEFAULT 0, PRIMARY KEY ("the region", "the ID"))`))
		schema := sqlfence.Schema{Name: `my "odd" table; --`, Class: "thing", Key: []string{"the region", "the ID"}, Token: "Token", Step: "step ?", Tombstones: true}
		if err := sqlfence.CreateTriggers(t.Context(), db, d.dialect, sqlfence.Enforcement{Schema: schema, Mode: sqlfence.Enforce}); err != nil {
			t.Fatal(err)
		}
		table, err := sqlfence.OpenTable(t.Context(), db, d.dialect, schema, nil)
		if err != nil {
			t.Fatal(err)
		}
		hostile := sqlfence.Key{"e/u%'\"", 7}
		resource, err := table.Resource(hostile)
		if err != nil {
			t.Fatal(err)
		}
		token := fencerowtest.Token("test:1", resource, 5)
		if err := table.Put(t.Context(), token.Stamp(1), hostile, sqlfence.Values{"select": 1}); err != nil {
			t.Fatal(err)
		}
		// The mark is kept under the name that the trigger makes of the key, or the delete would be refused.
		if err := table.Delete(t.Context(), token.Stamp(2), hostile); err != nil {
			t.Fatal(err)
		}
		stale := fencerowtest.Token("test:1", resource, 4)
		wantVerdict(t, table.Put(t.Context(), stale.Stamp(9), hostile, sqlfence.Values{"select": 1}), fencerow.Stale, "a stale put")
	})
}

// INSERT OR REPLACE of SQLite, REPLACE and ON DUPLICATE KEY of MySQL, ON CONFLICT of Postgres: none gets around the triggers.
func TestUpsertsMeetTheTriggers(t *testing.T) {
	for _, c := range []struct {
		d          database
		statements []string
	}{
		{sqlite, []string{"INSERT OR REPLACE INTO accounts (id, balance, fence_token) VALUES (42, 0, 33)", "INSERT OR REPLACE INTO accounts (id, balance) VALUES (42, 0)",
			"INSERT OR REPLACE INTO accounts (id, balance, fence_token) VALUES (42, 0, 34)",
			"INSERT INTO accounts (id, balance, fence_token) VALUES (42, 0, 33) ON CONFLICT (id) DO UPDATE SET balance = 0"}},
		{mariadb, []string{"REPLACE INTO accounts (id, balance, fence_token) VALUES (42, 0, 33)", "REPLACE INTO accounts (id, balance) VALUES (42, 0)",
			"INSERT INTO accounts (id, balance, fence_token) VALUES (42, 0, 33) ON DUPLICATE KEY UPDATE balance = 0"}},
		{postgres, []string{"INSERT INTO accounts (id, balance, fence_token) VALUES (42, 0, 33) ON CONFLICT (id) DO UPDATE SET balance = 0"}},
	} {
		b := newBank(t, c.d, nil)
		exec(t, b.db, "UPDATE accounts SET fence_token = 34")
		enforce(t, b, sqlfence.Enforcement{Schema: accountSchema, Mode: sqlfence.Enforce})
		for _, statement := range c.statements {
			if err := b.plain(statement); !errors.Is(err, fencerow.ErrStale) && !errors.Is(err, fencerow.ErrUnfenced) {
				t.Errorf("%s: %s: %v", c.d.name, statement, err)
			}
		}
		if balance := b.balance(t); balance != 1000 {
			t.Errorf("%s: the balance is %d", c.d.name, balance)
		}
	}
}

// Without ENABLE ALWAYS a session of the replica role would get past the triggers.
func TestTriggersOfPostgresCoverTruncateReplicasAndCascades(t *testing.T) {
	b := newBank(t, postgres, nil)
	exec(t, b.db, `CREATE TABLE owners (id bigint PRIMARY KEY)`)
	exec(t, b.db, `INSERT INTO owners VALUES (42)`)
	exec(t, b.db, `ALTER TABLE accounts ADD FOREIGN KEY (id) REFERENCES owners ON DELETE CASCADE`)
	enforce(t, b, sqlfence.Enforcement{Schema: accountSchema, Mode: sqlfence.Enforce})
	if err := b.plain("TRUNCATE accounts"); !errors.Is(err, fencerow.ErrUnfenced) {
		t.Errorf("TRUNCATE: %v", err)
	}
	if err := b.plain("DELETE FROM owners"); !errors.Is(err, sqlfence.ErrNotKept) {
		t.Errorf("a cascade: %v", err)
	}
	conn, err := b.db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for _, statement := range []string{"SET session_replication_role = replica", "UPDATE accounts SET balance = 0"} {
		if _, err = conn.ExecContext(t.Context(), statement); err != nil {
			break
		}
	}
	if err := sqlfence.Refusal(err); !errors.Is(err, fencerow.ErrUnfenced) {
		t.Errorf("in the replica role: %v", err)
	}
	_, _ = conn.ExecContext(t.Context(), "RESET session_replication_role")
	if balance := b.balance(t); balance != 1000 {
		t.Errorf("the balance is %d", balance)
	}
}

// A program in another language presents its token by settings, and leaves the columns to the trigger.
func TestSettingsPresentTheToken(t *testing.T) {
	b := newBank(t, postgres, nil)
	enforce(t, b, sqlfence.Enforcement{Schema: accountSchema, Mode: sqlfence.Enforce})
	b.db.SetMaxOpenConns(1) // the same session throughout
	present := func(resource, number string, statements ...string) error {
		tx, err := b.db.Begin()
		if err != nil {
			t.Fatal(err)
		}
		defer tx.Rollback()
		if _, err := tx.Exec("SELECT set_config('fencerow.resource', $1, true), set_config('fencerow.token', $2, true)", resource, number); err != nil {
			t.Fatal(err)
		}
		for _, statement := range statements {
			if _, err := tx.Exec(statement); err != nil {
				return sqlfence.Refusal(err)
			}
		}
		return tx.Commit()
	}
	if err := present("account/42", "34", "UPDATE accounts SET balance = 900"); err != nil {
		t.Fatal(err)
	}
	var n int64
	if err := b.db.QueryRow("SELECT fence_token FROM accounts").Scan(&n); err != nil || n != 34 {
		t.Errorf("the trigger has stored %d, %v", n, err)
	}
	if err := present("account/42", "33", "UPDATE accounts SET balance = 0"); !errors.Is(err, fencerow.ErrStale) {
		t.Errorf("an older token: %v", err)
	}
	if err := present("account/43", "99", "UPDATE accounts SET balance = 0 WHERE id = 42"); !errors.Is(err, fencerow.ErrUnfenced) {
		t.Errorf("the token of another resource: %v", err)
	}
	// After the transaction the settings are empty texts, not NULL: nobody inherits a token from the pool.
	if err := b.plain("UPDATE accounts SET balance = 0"); !errors.Is(err, fencerow.ErrUnfenced) {
		t.Errorf("the next transaction of the session: %v", err)
	}
	if err := present("account/50", "5", "INSERT INTO accounts (id, balance) VALUES (50, 0)", "UPDATE accounts SET balance = 1 WHERE id = 50"); err != nil {
		t.Errorf("an insert: %v", err)
	}
}

// The trigger of a table that a broader lock protects asks for the gate.
func TestTriggerThatAsksForTheGate(t *testing.T) {
	b := newBank(t, postgres, &sqlfence.Options{TellTriggers: true})
	exec(t, b.db, "CREATE TABLE invoices (id bigint PRIMARY KEY, paid bigint NOT NULL DEFAULT 0)")
	exec(t, b.db, "INSERT INTO invoices (id) VALUES (1)")
	enforce(t, b, sqlfence.Enforcement{Schema: sqlfence.Schema{Name: "invoices"}, GateClass: "account", Mode: sqlfence.Enforce})
	pay := func(ctx context.Context, tx *sqlfence.Tx) error {
		_, err := tx.ExecContext(ctx, "UPDATE invoices SET paid = paid + 1")
		return sqlfence.Refusal(err)
	}
	older, newer := grant(33), grant(34)
	if err := b.gate.Tx(t.Context(), older.Stamp(1), account, pay); err != nil {
		t.Errorf("through the gate: %v", err)
	}
	if err := b.gate.Shared(t.Context(), older.Stamp(2), account, pay); err != nil {
		t.Errorf("through the shared gate: %v", err)
	}
	if err := b.gate.TxAtCommit(t.Context(), older.Stamp(3), account, pay); !errors.Is(err, fencerow.ErrUnfenced) {
		t.Errorf("before the gate at the commit: %v", err)
	}
	_, silent := openFences(t, postgres, b.db, nil)
	if err := silent.Tx(t.Context(), older.Stamp(4), account, pay); !errors.Is(err, fencerow.ErrUnfenced) {
		t.Errorf("through a gate that does not tell: %v", err)
	}
	foreign := fencerowtest.Token("test:1", "order/42", 9)
	if err := b.gate.Tx(t.Context(), foreign.Stamp(1), "order/42", pay); !errors.Is(err, fencerow.ErrUnfenced) {
		t.Errorf("through the gate of another class: %v", err)
	}
	for _, statement := range []string{"UPDATE invoices SET paid = 9", "DELETE FROM invoices", "INSERT INTO invoices (id) VALUES (2)", "TRUNCATE invoices"} {
		if err := b.plain(statement); !errors.Is(err, fencerow.ErrUnfenced) {
			t.Errorf("%s: %v", statement, err)
		}
	}
	if err := b.gate.Claim(t.Context(), newer.Stamp(1), account); err != nil {
		t.Fatal(err)
	}
	// A program that presents its token by settings is compared with the gate.
	tx, err := b.db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	_, err = tx.Exec("SELECT set_config('fencerow.resource', 'account/42', true), set_config('fencerow.token', '33', true), set_config('fencerow.grant', $1, true)", older.GrantID())
	if err == nil {
		_, err = tx.Exec("UPDATE invoices SET paid = 9")
	}
	if err := sqlfence.Refusal(err); !errors.Is(err, fencerow.ErrStale) {
		t.Errorf("a stale token by settings: %v", err)
	}
	var paid int
	if err := b.db.QueryRow("SELECT sum(paid) FROM invoices").Scan(&paid); err != nil || paid != 2 {
		t.Errorf("%d were paid, %v", paid, err)
	}
}

// A stale write that waits behind a newer one meets the row as the newer one leaves it.
func TestTriggerSeesTheNewerRow(t *testing.T) {
	b := newBank(t, postgres, nil)
	enforce(t, b, sqlfence.Enforcement{Schema: accountSchema, Mode: sqlfence.Enforce})
	tx, err := b.db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec("UPDATE accounts SET fence_token = 34, balance = 900"); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- b.plain("UPDATE accounts SET fence_token = 33, balance = 0") }()
	stays(t, done, "the stale write behind a newer one")
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	if err := ends(t, done, "the stale write"); !errors.Is(err, fencerow.ErrStale) || b.balance(t) != 900 {
		t.Errorf("%v, balance %d", err, b.balance(t))
	}
}

func TestEnforcementsThatCannotWork(t *testing.T) {
	each(t, func(t *testing.T, d database) {
		b := newBank(t, d, nil)
		exec(t, b.db, "CREATE TABLE keyless (id bigint, fence_token bigint DEFAULT 0)")
		with := func(change func(*sqlfence.Enforcement)) sqlfence.Enforcement {
			e := sqlfence.Enforcement{Schema: accountSchema, Mode: sqlfence.Enforce}
			change(&e)
			return e
		}
		for says, e := range map[string]sqlfence.Enforcement{
			"which mode":     with(func(e *sqlfence.Enforcement) { e.Mode = 0 }),
			"NotOlder":       with(func(e *sqlfence.Enforcement) { e.Schema.Step, e.Schema.Grant, e.Schema.NotOlder = "", "", true }),
			"does not exist": with(func(e *sqlfence.Enforcement) { e.Schema.Name = "nowhere" }),
			"not unique": with(func(e *sqlfence.Enforcement) {
				e.Schema.Name, e.Schema.Step, e.Schema.Grant = "keyless", "", ""
			}),
			"class": with(func(e *sqlfence.Enforcement) { e.Schema.Class = "no/class" }),
		} {
			wantError(t, sqlfence.CreateTriggers(t.Context(), b.db, d.dialect, e), says, says)
		}
		gated := sqlfence.Enforcement{Schema: sqlfence.Schema{Name: "accounts"}, GateClass: "account", Mode: sqlfence.Enforce}
		if d.dialect.Name() != "postgres" {
			wantError(t, sqlfence.CreateTriggers(t.Context(), b.db, d.dialect, gated), "cannot know which gate", "a gate")
		}
		if _, err := sqlfence.TriggerStatements(sqlfence.Dialect{}, gated, nil); err == nil {
			t.Error("no dialect")
		}
		var db *sql.DB
		if err := sqlfence.CreateTriggers(t.Context(), db, sqlfence.Dialect{}, gated); err == nil {
			t.Error("no dialect")
		}
	})
}
