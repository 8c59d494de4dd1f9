package sqlfence

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fencerow/fencerow"
	"github.com/fencerow/fencerow/fence/sqlfence"
	"github.com/fencerow/fencerow/fencerowtest"
)

// An update of several rows is all or nothing, and says why.
func TestSeveralRows(t *testing.T) {
	each(t, func(t *testing.T, d database) {
		db := d.open(t)
		exec(t, db, `CREATE TABLE invoices (id bigint PRIMARY KEY, tenant bigint NOT NULL, paid bigint NOT NULL DEFAULT 0,
			fence_token bigint NOT NULL DEFAULT 0, fence_step bigint NOT NULL DEFAULT 0)`)
		exec(t, db, "INSERT INTO invoices (id, tenant) VALUES (1, 7), (2, 7), (3, 7), (4, 8)")
		invoices, err := sqlfence.OpenTable(t.Context(), db, d.dialect,
			sqlfence.Schema{Name: "invoices", Class: "tenant", Key: []string{"tenant"}, Step: "fence_step"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		tenant := sqlfence.Key{7}
		token := fencerowtest.Token("test:1", "tenant/7", 5)
		paid := func() (n int) {
			if err := db.QueryRow("SELECT sum(paid) FROM invoices").Scan(&n); err != nil {
				t.Fatal(err)
			}
			return n
		}
		pay := sqlfence.Set("paid = paid + 1")

		err = invoices.Update(t.Context(), token.Stamp(1), tenant, pay)
		wantError(t, err, "Expect", "without Expect")
		wantError(t, invoices.Claim(t.Context(), token.Stamp(1), tenant, nil), "Gate", "a claim by a key that is not unique")
		var rows *sqlfence.RowsError
		for _, wrong := range []int64{1, 2, 4} {
			err = invoices.Update(t.Context(), token.Stamp(1), tenant, pay, sqlfence.Expect(wrong))
			if !errors.As(err, &rows) || rows.Expected != wrong || rows.Affected != 3 || paid() != 0 {
				t.Errorf("Expect(%d): %v, %d paid", wrong, err, paid())
			}
		}
		if err := invoices.Update(t.Context(), token.Stamp(1), tenant, pay, sqlfence.Expect(3)); err != nil || paid() != 3 {
			t.Errorf("Expect(3): %v, %d paid", err, paid())
		}
		wantVerdict(t, invoices.Update(t.Context(), token.Stamp(1), tenant, pay, sqlfence.Expect(3)), fencerow.Duplicate, "the same stamp")

		exec(t, db, "UPDATE invoices SET fence_token = 6 WHERE id = 2") // a newer holder has been at one of them
		err = invoices.Update(t.Context(), token.Stamp(2), tenant, pay, sqlfence.Expect(3))
		var stale *fencerow.StaleError
		if !errors.As(err, &stale) || stale.Stored != 6 || paid() != 3 {
			t.Errorf("one row is newer: %v, %d paid; want stale and nothing written", err, paid())
		}
		exec(t, db, "UPDATE invoices SET fence_token = 0 WHERE id = 2")
		err = invoices.Update(t.Context(), token.Stamp(3), tenant, pay, sqlfence.Where("id <> 3"), sqlfence.Expect(3))
		if !errors.As(err, &rows) || rows.Affected != 2 || paid() != 3 {
			t.Errorf("the own condition leaves one out: %v, %d paid", err, paid())
		}
		wantVerdict(t, invoices.Update(t.Context(), token.Stamp(3), tenant, pay, sqlfence.Where("id > 99"), sqlfence.Expect(3)),
			fencerow.Rejected, "the own condition leaves all out")
		wantVerdict(t, invoices.Update(t.Context(), fencerowtest.Token("test:1", "tenant/9", 5).Stamp(1), sqlfence.Key{9}, pay, sqlfence.Expect(3)),
			fencerow.Missing, "no rows at all")
	})
}

func TestNamesAndKeysOfAllKinds(t *testing.T) {
	each(t, func(t *testing.T, d database) {
		for name, c := range map[string]struct {
			create []string
			schema sqlfence.Schema
			key    sqlfence.Key
			column string
		}{
			"composite key": {
				[]string{"CREATE TABLE t1 (region text, id bigint, n bigint DEFAULT 0, fence_token bigint DEFAULT 0, s bigint DEFAULT 0, g text DEFAULT '', PRIMARY KEY (region, id))",
					"INSERT INTO t1 (region, id) VALUES ('e/u', 1), ('e', 1)"},
				sqlfence.Schema{Name: "t1", Key: []string{"region", "id"}, Step: "s", Grant: "g"}, sqlfence.Key{"e/u", 1}, "n",
			},
			"hostile names": {
				[]string{`CREATE TABLE "my ""odd"" table; --" ("the ID" bigint PRIMARY KEY, "select" bigint DEFAULT 0, "Token" bigint DEFAULT 0, "step ?" bigint DEFAULT 0, "$1" text DEFAULT '')`,
					`INSERT INTO "my ""odd"" table; --" ("the ID") VALUES (1)`},
				sqlfence.Schema{Name: `my "odd" table; --`, Key: []string{"the ID"}, Token: "Token", Step: "step ?", Grant: "$1"}, sqlfence.Key{1}, `"select"`,
			},
			"hostile key": {
				[]string{"CREATE TABLE t2 (id text PRIMARY KEY, n bigint DEFAULT 0, fence_token bigint DEFAULT 0, s bigint DEFAULT 0, g text DEFAULT '')",
					"INSERT INTO t2 (id) VALUES ('''; DROP TABLE t2; --ü日本\"%_/')"},
				sqlfence.Schema{Name: "t2", Key: []string{"id"}, Step: "s", Grant: "g"}, sqlfence.Key{`'; DROP TABLE t2; --ü日本"%_/`}, "n",
			},
			"unique index": {
				[]string{"CREATE TABLE t3 (id bigint NOT NULL, n bigint DEFAULT 0, fence_token bigint DEFAULT 0, s bigint DEFAULT 0, g text DEFAULT '')",
					"CREATE UNIQUE INDEX t3_id ON t3 (id)", "INSERT INTO t3 (id) VALUES (1)"},
				sqlfence.Schema{Name: "t3", Key: []string{"id"}, Step: "s", Grant: "g"}, sqlfence.Key{1}, "n",
			},
			"key wider than the primary key": {
				[]string{"CREATE TABLE t4 (id bigint PRIMARY KEY, region text, n bigint DEFAULT 0, fence_token bigint DEFAULT 0, s bigint DEFAULT 0, g text DEFAULT '')",
					"INSERT INTO t4 (id, region) VALUES (1, 'eu')"},
				sqlfence.Schema{Name: "t4", Key: []string{"region", "id"}, Step: "s", Grant: "g"}, sqlfence.Key{"eu", 1}, "n",
			},
		} {
			t.Run(name, func(t *testing.T) {
				db := d.open(t)
				for _, statement := range c.create {
					exec(t, db, d.ddl(statement))
				}
				c.schema.Class = "thing"
				table, err := sqlfence.OpenTable(t.Context(), db, d.dialect, c.schema, nil)
				if err != nil {
					t.Fatal(err)
				}
				resource, err := table.Resource(c.key)
				if err != nil {
					t.Fatal(err)
				}
				token := fencerowtest.Token("test:1", resource, 5)
				seen := int64(-1)
				if err := table.Claim(t.Context(), token.Stamp(1), c.key, sqlfence.Into{strings.Trim(c.column, `"`): &seen}); err != nil || seen != 0 {
					t.Fatalf("claim: %v, read %d", err, seen)
				}
				if err := table.Update(t.Context(), token.Stamp(1), c.key, sqlfence.Set(d.ddl(c.column)+" = ?", 7), sqlfence.Where(d.ddl(c.column)+" = ?", 0)); err != nil {
					t.Fatalf("update: %v", err)
				}
				wantVerdict(t, table.Update(t.Context(), token.Stamp(1), c.key, sqlfence.Set(d.ddl(c.column)+" = 8")), fencerow.Duplicate, "the same stamp")
				if err := table.Claim(t.Context(), token.Stamp(1), c.key, sqlfence.Into{strings.Trim(c.column, `"`): &seen}); err != nil || seen != 7 {
					t.Errorf("claim again: %v, read %d", err, seen)
				}
			})
		}
	})
}

func TestSchemasAndPartitionsOfPostgres(t *testing.T) {
	db := postgres.open(t)
	exec(t, db, "CREATE SCHEMA bank")
	exec(t, db, `CREATE TABLE bank.accounts (id bigint NOT NULL, balance bigint DEFAULT 0, fence_token bigint DEFAULT 0,
		fence_step bigint DEFAULT 0, fence_grant text DEFAULT '', PRIMARY KEY (id)) PARTITION BY HASH (id)`)
	exec(t, db, "CREATE TABLE bank.p0 PARTITION OF bank.accounts FOR VALUES WITH (MODULUS 2, REMAINDER 0)")
	exec(t, db, "CREATE TABLE bank.p1 PARTITION OF bank.accounts FOR VALUES WITH (MODULUS 2, REMAINDER 1)")
	exec(t, db, "INSERT INTO bank.accounts (id) VALUES (42)")
	schema := accountSchema
	schema.Name = "bank.accounts"
	table, err := sqlfence.OpenTable(t.Context(), db, sqlfence.Postgres, schema, nil)
	if err != nil {
		t.Fatal(err)
	}
	g := grant(5)
	if err := table.Claim(t.Context(), g.Stamp(1), key, nil); err != nil {
		t.Fatal(err)
	}
	wantVerdict(t, table.Update(t.Context(), g.Stamp(1), key, sqlfence.Set("balance = 1")), fencerow.Applied, "an update of a partition")
	wantVerdict(t, table.Update(t.Context(), grant(4).Stamp(1), key, sqlfence.Set("balance = 2")), fencerow.Stale, "a stale update of a partition")
}

// A key that is unique only for some rows, or only in an expression, is not unique.
func TestWhatIsNotUnique(t *testing.T) {
	for name, c := range map[string]struct {
		d     database
		index string
	}{
		"partial, Postgres":    {postgres, "CREATE UNIQUE INDEX i ON t (id) WHERE n > 0"},
		"expression, Postgres": {postgres, "CREATE UNIQUE INDEX i ON t ((id + 1))"},
		"more, Postgres":       {postgres, "CREATE UNIQUE INDEX i ON t (id, n)"},
		"included, Postgres":   {postgres, "CREATE UNIQUE INDEX i ON t (n) INCLUDE (id)"},
		"deferred, Postgres":   {postgres, "ALTER TABLE t ADD UNIQUE (id) DEFERRABLE"},
		"plain, Postgres":      {postgres, "CREATE INDEX i ON t (id)"},
		"partial, SQLite":      {sqlite, "CREATE UNIQUE INDEX i ON t (id) WHERE n > 0"},
		"expression, SQLite":   {sqlite, "CREATE UNIQUE INDEX i ON t (id + 1)"},
		"more, SQLite":         {sqlite, "CREATE UNIQUE INDEX i ON t (id, n)"},
	} {
		t.Run(name, func(t *testing.T) {
			db := c.d.open(t)
			exec(t, db, "CREATE TABLE t (id bigint, n bigint DEFAULT 0, fence_token bigint DEFAULT 0)")
			exec(t, db, c.index)
			table, err := sqlfence.OpenTable(t.Context(), db, c.d.dialect, sqlfence.Schema{Name: "t", Class: "account", Key: []string{"id"}}, nil)
			if err != nil {
				t.Fatal(err)
			}
			wantError(t, table.Update(t.Context(), grant(5).Stamp(1), key, sqlfence.Set("n = 1")), "not unique", "an update")
		})
	}
}

// Everything that is wrong with a table is said when it is opened.
func TestTablesThatDoNotFit(t *testing.T) {
	each(t, func(t *testing.T, d database) {
		db := d.open(t)
		exec(t, db, "CREATE TABLE bare (id bigint PRIMARY KEY)")
		exec(t, db, "CREATE TABLE texts (id bigint PRIMARY KEY, fence_token text, fence_step text, fence_grant bigint)")
		exec(t, db, "CREATE VIEW looks AS SELECT * FROM texts")
		schema := func(name string, change func(*sqlfence.Schema)) sqlfence.Schema {
			s := sqlfence.Schema{Name: name, Class: "account", Key: []string{"id"}}
			change(&s)
			return s
		}
		keep := func(*sqlfence.Schema) {}
		for name, c := range map[string]struct {
			schema sqlfence.Schema
			says   []string
		}{
			"no such table":     {schema("nowhere", keep), []string{"nowhere", "does not exist"}},
			"no such schema":    {schema("nowhere.bare", keep), []string{"nowhere"}},
			"no column":         {schema("bare", keep), []string{`no column "fence_token"`, "ALTER TABLE"}},
			"all at once":       {schema("bare", func(s *sqlfence.Schema) { s.Step, s.Grant, s.Key = "st", "gr", []string{"nr"} }), []string{"fence_token", `"st"`, `"gr"`, `key column "nr"`}},
			"token is text":     {schema("texts", keep), []string{"fence_token", "64-bit integer"}},
			"step is text":      {schema("texts", func(s *sqlfence.Schema) { s.Token, s.Step = "id", "fence_step"; s.Key = []string{"fence_grant"} }), []string{"fence_step", "64-bit integer"}},
			"grant is a number": {schema("texts", func(s *sqlfence.Schema) { s.Step, s.Grant = "fence_step", "fence_grant" }), []string{"fence_grant", "text"}},
			"view":              {schema("looks", keep), []string{"looks", "view"}},
		} {
			t.Run(name, func(t *testing.T) {
				_, err := sqlfence.OpenTable(t.Context(), db, d.dialect, c.schema, nil)
				for _, says := range c.says {
					wantError(t, err, says, "OpenTable")
				}
			})
		}
	})
}

func TestColumnTypesOfPostgres(t *testing.T) {
	for _, columnType := range []string{"integer", "smallint", "numeric", "real", "text", "timestamptz"} {
		db := postgres.open(t)
		exec(t, db, "CREATE TABLE t (id bigint PRIMARY KEY, fence_token "+columnType+")")
		_, err := sqlfence.OpenTable(t.Context(), db, sqlfence.Postgres, sqlfence.Schema{Name: "t", Class: "c", Key: []string{"id"}}, nil)
		wantError(t, err, "bigint", columnType)
	}
}

func TestColumnWithoutATypeOnSQLite(t *testing.T) {
	db := sqlite.open(t)
	exec(t, db, "CREATE TABLE t (id bigint PRIMARY KEY, fence_token)") // would store 9 and '10' side by side
	_, err := sqlfence.OpenTable(t.Context(), db, sqlfence.SQLite, sqlfence.Schema{Name: "t", Class: "c", Key: []string{"id"}}, nil)
	wantError(t, err, "INTEGER", "a column without a type")
}

func TestDatabasesThatCannotWrite(t *testing.T) {
	t.Run("closed", func(t *testing.T) {
		each(t, func(t *testing.T, d database) {
			b := newBank(t, d, nil)
			if err := b.db.Close(); err != nil {
				t.Fatal(err)
			}
			for what, err := range map[string]error{
				"update": b.accounts.Update(t.Context(), grant(5).Stamp(1), key, sqlfence.Set("balance = 0")),
				"claim":  b.accounts.Claim(t.Context(), grant(5).Stamp(1), key, nil),
				"gate":   b.gate.Tx(t.Context(), grant(5).Stamp(1), account, debit(1)),
			} {
				wantError(t, err, "closed", what)
				wantVerdict(t, err, fencerow.Failed, what)
			}
			if _, err := sqlfence.OpenTable(t.Context(), b.db, d.dialect, accountSchema, nil); err == nil {
				t.Error("OpenTable of a closed database")
			}
			if _, err := sqlfence.OpenGate(t.Context(), b.db, d.dialect, nil); err == nil {
				t.Error("OpenGate of a closed database")
			}
		})
	})
	readOnly := func(t *testing.T, d database, db *sql.DB) {
		t.Helper()
		accounts, gate := openFences(t, d, db, nil)
		for what, err := range map[string]error{
			"update": accounts.Update(t.Context(), grant(5).Stamp(1), key, sqlfence.Set("balance = 0")),
			"claim":  accounts.Claim(t.Context(), grant(5).Stamp(1), key, nil),
			"gate":   gate.Tx(t.Context(), grant(5).Stamp(1), account, debit(1)),
		} {
			wantError(t, err, "accepts no writes", what)
			wantVerdict(t, err, fencerow.Failed, what)
		}
	}
	t.Run("read-only, Postgres", func(t *testing.T) {
		b := newBank(t, postgres, nil)
		exec(t, b.db, "ALTER DATABASE "+currentDatabase(t, b.db)+" SET default_transaction_read_only = on")
		b.db.SetMaxIdleConns(0)
		readOnly(t, postgres, b.db)
	})
	t.Run("read-only, SQLite", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "test.db")
		db := openFile(t, file, "")
		exec(t, db, createAccounts)
		exec(t, db, "INSERT INTO accounts (id) VALUES (42)")
		openFences(t, sqlite, db, nil)
		readOnly(t, sqlite, openFile(t, file, "&mode=ro"))
		wantError(t, func() error {
			_, err := sqlfence.OpenGate(context.Background(), openFile(t, emptyFile(t), "&mode=ro"), sqlfence.SQLite, nil)
			return err
		}(), "GateSchema", "a gate that cannot be created")
	})
	t.Run("no rights, Postgres", func(t *testing.T) {
		b := newBank(t, postgres, nil)
		exec(t, b.db, "CREATE ROLE fencerow_reader_"+roleSuffix(t, b.db))
		role := "fencerow_reader_" + roleSuffix(t, b.db)
		t.Cleanup(func() { _, _ = b.db.Exec("DROP OWNED BY " + role + "; DROP ROLE " + role) })
		exec(t, b.db, "GRANT SELECT ON accounts, fencerow_gate TO "+role)
		b.db.SetMaxOpenConns(1)
		exec(t, b.db, "SET ROLE "+role)
		wantError(t, b.accounts.Claim(t.Context(), grant(5).Stamp(1), key, nil), "permission denied", "a claim")
		wantError(t, b.gate.Tx(t.Context(), grant(5).Stamp(1), account, debit(1)), "permission denied", "a transaction")
		exec(t, b.db, "RESET ROLE")
	})
}

func roleSuffix(t *testing.T, db *sql.DB) string {
	return strings.Trim(currentDatabase(t, db), `"`)
}

func emptyFile(t *testing.T) string {
	file := filepath.Join(t.TempDir(), "empty.db")
	exec(t, openFile(t, file, ""), "CREATE TABLE t (id bigint)")
	return file
}

func TestGateTableOfAnotherShape(t *testing.T) {
	each(t, func(t *testing.T, d database) {
		db := d.open(t)
		exec(t, db, d.ddl("CREATE TABLE fencerow_gate (resource text PRIMARY KEY, number bigint)"))
		_, err := sqlfence.OpenGate(t.Context(), db, d.dialect, nil)
		wantError(t, err, "another shape", "OpenGate")
	})
}

func TestGateSchemaCreatesTheGate(t *testing.T) {
	each(t, func(t *testing.T, d database) {
		db := d.open(t)
		exec(t, db, sqlfence.GateSchema(d.dialect))
		if _, err := sqlfence.OpenGate(t.Context(), db, d.dialect, nil); err != nil {
			t.Error(err)
		}
	})
}

// A row that could not be read back must not hide that the claim was accepted.
func TestClaimThatCannotBeReadBack(t *testing.T) {
	each(t, func(t *testing.T, d database) {
		b := newBank(t, d, nil)
		var notANumber struct{}
		err := b.accounts.Claim(t.Context(), grant(5).Stamp(1), key, sqlfence.Into{"balance": &notANumber})
		wantError(t, err, "the mark is raised", "a claim into something that cannot hold the value")
		wantVerdict(t, b.accounts.Claim(t.Context(), grant(4).Stamp(1), key, nil), fencerow.Stale, "an older claim")
		wantError(t, b.accounts.Claim(t.Context(), grant(6).Stamp(1), key, sqlfence.Into{"no_such_column": new(int)}), "no_such_column", "a claim that returns no such column")
		wantVerdict(t, b.accounts.Claim(t.Context(), grant(5).Stamp(1), key, nil), fencerow.TokenReused, "another grant of the number that has claimed")
	})
}

func TestTableInAnotherTransaction(t *testing.T) {
	each(t, func(t *testing.T, d database) {
		b := newBank(t, d, nil)
		g := grant(5)
		for _, commit := range []bool{false, true} {
			tx, err := b.db.BeginTx(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			var balance int64
			if err := b.accounts.In(tx).Claim(t.Context(), g.Stamp(1), key, sqlfence.Into{"balance": &balance}); err != nil || balance != 1000 {
				t.Fatalf("claim: %v, balance %d", err, balance)
			}
			if err := b.accounts.In(tx).Update(t.Context(), g.Stamp(1), key, sqlfence.Set("balance = ?", balance-100)); err != nil {
				t.Fatal(err)
			}
			wantVerdict(t, b.accounts.In(tx).Update(t.Context(), g.Stamp(1), key, sqlfence.Set("balance = 0")), fencerow.Duplicate, "the same stamp")
			end, want := tx.Rollback, int64(1000)
			if commit {
				end, want = tx.Commit, 900
			}
			if err := end(); err != nil || b.balance(t) != want {
				t.Errorf("commit %v: %v, balance %d", commit, err, b.balance(t))
			}
		}
	})
}

// A table of MySQL without transactions cannot be fenced, and neither can what only looks like one.
func TestTablesOfMySQLThatDoNotFit(t *testing.T) {
	db := mariadb.open(t)
	exec(t, db, "CREATE TABLE isam (id bigint PRIMARY KEY, fence_token bigint DEFAULT 0) ENGINE = MyISAM")
	exec(t, db, "CREATE TABLE small (id bigint PRIMARY KEY, fence_token int DEFAULT 0)")
	exec(t, db, "CREATE TABLE prefixed (id varchar(200), fence_token bigint DEFAULT 0, UNIQUE KEY (id(10)))")
	exec(t, db, "CREATE TABLE parts (id bigint PRIMARY KEY, n bigint DEFAULT 0, fence_token bigint unsigned DEFAULT 0) PARTITION BY HASH (id) PARTITIONS 4")
	exec(t, db, "INSERT INTO parts (id) VALUES (42)")
	open := func(name string) (*sqlfence.Table, error) {
		return sqlfence.OpenTable(t.Context(), db, sqlfence.MySQL, sqlfence.Schema{Name: name, Class: "account", Key: []string{"id"}}, nil)
	}
	_, err := open("isam")
	wantError(t, err, "MyISAM table", "a table without transactions")
	_, err = open("small")
	wantError(t, err, "bigint", "a token of 32 bits")
	_, err = open("nowhere.isam")
	wantError(t, err, "does not exist", "another database")
	prefixed, err := open("prefixed")
	if err != nil {
		t.Fatal(err)
	}
	wantError(t, prefixed.Update(t.Context(), grant(5).Stamp(1), key, sqlfence.Set("fence_token = 0")), "not unique", "a key of which the beginning is unique")
	parts, err := open("parts")
	if err != nil {
		t.Fatal(err)
	}
	if err := parts.Update(t.Context(), grant(5).Stamp(1), key, sqlfence.Set("n = 1")); err != nil {
		t.Errorf("a partitioned table with an unsigned token: %v", err)
	}
	wantVerdict(t, parts.Update(t.Context(), grant(4).Stamp(1), key, sqlfence.Set("n = 2")), fencerow.Stale, "a stale write to it")
}
