package conformance

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"regexp"
	"testing"

	"github.com/fencerow/fencerow"
	"github.com/fencerow/fencerow/fence/sqlfence"
	"github.com/fencerow/fencerow/fencerowtest"
	"github.com/fencerow/fencerow/internal/integration/servers"
	"github.com/fencerow/fencerow/internal/integration/wire"
)

// database is a dialect with a database of its own.
type database struct {
	name       string
	dialect    sqlfence.Dialect
	driverName string
	dsn        func(*testing.T) string
}

var databases = []database{
	{"SQLite", sqlfence.SQLite, "sqlite", func(t *testing.T) string { return sqliteDSN(newFile(t)) }},
	{"Postgres", sqlfence.Postgres, "pgx", func(t *testing.T) string { return servers.PostgresURL(t) }},
	{"MariaDB, changed rows", sqlfence.MySQL, "mysql", func(t *testing.T) string { return servers.MariaDBDSN(t) + "?clientFoundRows=false" }},
	{"MariaDB, found rows", sqlfence.MySQL, "mysql", func(t *testing.T) string { return servers.MariaDBDSN(t) + "?clientFoundRows=true" }},
}

func (d database) open(t *testing.T, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open(d.driverName, dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// wired opens a fence as open does, through a wire. SQLite has no way in between.
func (a accounts) wired(t *testing.T, open func(context.Context, *sql.DB) (fencerowtest.Fence, error)) func(context.Context) (fencerowtest.Fence, fencerowtest.Wire, error) {
	if a.driverName == "sqlite" {
		return nil
	}
	return func(ctx context.Context) (fencerowtest.Fence, fencerowtest.Wire, error) {
		w := wire.Start(t, host.FindString(a.address))
		fence, err := open(ctx, a.database.open(t, host.ReplaceAllString(a.address, w.Addr())))
		return fence, w, err
	}
}

// rebind writes the placeholders of a statement of the tests, which are $1, $2, ..., once each and in order, as the dialect does.
func (d database) rebind(statement string) string {
	if d.dialect.Name() != "mysql" {
		return statement
	}
	return regexp.MustCompile(`\$\d`).ReplaceAllString(statement, "?")
}

func TestSQLFencesConform(t *testing.T) {
	for _, d := range databases {
		t.Run(d.name, func(t *testing.T) {
			for _, form := range []struct {
				name     string
				schema   sqlfence.Schema
				features fencerowtest.Features
			}{
				{"token", sqlfence.Schema{}, fencerowtest.Features{Missing: true}},
				{"token, not older", sqlfence.Schema{NotOlder: true}, fencerowtest.Features{Rewrites: true, Missing: true}},
				{"token and step", sqlfence.Schema{Step: "fence_step"}, fencerowtest.Features{Steps: true, Missing: true}},
				{"token, step and grant", sqlfence.Schema{Step: "fence_step", Grant: "fence_grant"},
					fencerowtest.Features{Claims: true, Steps: true, Missing: true}},
			} {
				t.Run(form.name, func(t *testing.T) { holdTable(t, d, form.schema, form.features) })
			}
			t.Run("put and delete", func(t *testing.T) { holdPut(t, d) })
			t.Run("gate", func(t *testing.T) { holdGate(t, d, sql.LevelDefault, false) })
			t.Run("gate at commit", func(t *testing.T) { holdGate(t, d, sql.LevelDefault, true) })
			if d.dialect.Name() != "sqlite" {
				t.Run("gate at repeatable read", func(t *testing.T) { holdGate(t, d, sql.LevelRepeatableRead, false) })
				t.Run("gate at serializable", func(t *testing.T) { holdGate(t, d, sql.LevelSerializable, false) })
				t.Run("gate at commit and repeatable read", func(t *testing.T) { holdGate(t, d, sql.LevelRepeatableRead, true) })
			}
		})
	}
}

const createAccounts = `CREATE TABLE account_balances (
	account_id  varchar(200) NOT NULL PRIMARY KEY,
	balance     bigint       NOT NULL DEFAULT 0,
	fence_token bigint                DEFAULT 0,
	fence_step  bigint       NOT NULL DEFAULT 0,
	fence_grant varchar(200) NOT NULL DEFAULT '')`

func exec(t *testing.T, db *sql.DB, statement string, args ...any) {
	t.Helper()
	if _, err := db.Exec(statement, args...); err != nil {
		t.Fatal(err)
	}
}

// accounts has the statements of the harness, which go around the fence.
type accounts struct {
	database
	address string
	db      *sql.DB
	insert  func(context.Context) (fencerow.Resource, error)
}

func newAccounts(t *testing.T, d database) accounts {
	address := d.dsn(t)
	db := d.open(t, address)
	exec(t, db, createAccounts)
	exec(t, db, "CREATE TABLE pairs (id varchar(200) NOT NULL PRIMARY KEY, value bigint NOT NULL)")
	return accounts{database: d, address: address, db: db, insert: func(ctx context.Context) (fencerow.Resource, error) {
		id := rand.Text()
		_, err := db.ExecContext(ctx, d.rebind("INSERT INTO account_balances (account_id) VALUES ($1)"), id)
		return fencerow.Resource("account/" + id), err
	}}
}

func holdTable(t *testing.T, d database, schema sqlfence.Schema, features fencerowtest.Features) {
	t.Parallel()
	a := newAccounts(t, d)
	schema.Name, schema.Class, schema.Key = "account_balances", "account", []string{"account_id"}
	var opts sqlfence.Options
	if features.Claims {
		features.MaxJump = 1 << 62
		opts.MaxJump = features.MaxJump
	}
	open := func(ctx context.Context, db *sql.DB) (fencerowtest.Fence, error) {
		table, err := sqlfence.OpenTable(ctx, db, d.dialect, schema, &opts)
		return rowFence{a, table}, err
	}
	fencerowtest.TestFence(t, fencerowtest.FenceHarness{
		Name:        "sqlfence.Table on " + d.name,
		Open:        func(ctx context.Context) (fencerowtest.Fence, error) { return open(ctx, a.db) },
		OpenWired:   a.wired(t, open),
		NewResource: a.insert,
		Features:    features,
		SetNull: func(ctx context.Context, r fencerow.Resource) error {
			_, err := a.db.ExecContext(ctx, a.rebind("UPDATE account_balances SET fence_token = NULL WHERE account_id = $1"), r.ID())
			return err
		},
	})
}

// rowFence drives a table.
type rowFence struct {
	accounts
	table *sqlfence.Table
}

func (f rowFence) Claim(ctx context.Context, s fencerow.Stamp, r fencerow.Resource) (value int64, err error) {
	err = f.table.Claim(ctx, s, sqlfence.Key{r.ID()}, sqlfence.Into{"balance": &value})
	return value, err
}

func (f rowFence) Write(ctx context.Context, s fencerow.Stamp, r fencerow.Resource, value int64) error {
	return f.table.Update(ctx, s, sqlfence.Key{r.ID()}, sqlfence.Set("balance = ?", value))
}

func (f rowFence) Load(ctx context.Context, r fencerow.Resource) (value, number int64, err error) {
	err = f.db.QueryRowContext(ctx, f.rebind("SELECT balance, COALESCE(fence_token, -1) FROM account_balances WHERE account_id = $1"), r.ID()).
		Scan(&value, &number)
	return value, number, err
}

// holdPut holds the form that inserts and deletes rows. Its resources begin without a row.
func holdPut(t *testing.T, d database) {
	t.Parallel()
	a := newAccounts(t, d)
	schema := sqlfence.Schema{Name: "account_balances", Class: "account", Key: []string{"account_id"}, Step: "fence_step", Tombstones: true}
	table, err := sqlfence.OpenTable(t.Context(), a.db, d.dialect, schema, nil)
	if err != nil {
		t.Fatal(err)
	}
	fencerowtest.TestFence(t, fencerowtest.FenceHarness{
		Name: "sqlfence.Table, put and delete, on " + d.name,
		Open: func(context.Context) (fencerowtest.Fence, error) { return putFence{rowFence{a, table}}, nil },
		NewResource: func(context.Context) (fencerow.Resource, error) {
			return fencerow.Resource("account/" + rand.Text()), nil
		},
		Features: fencerowtest.Features{Steps: true},
	})
}

// putFence drives a table whose rows come and go.
type putFence struct{ rowFence }

func (f putFence) Write(ctx context.Context, s fencerow.Stamp, r fencerow.Resource, value int64) error {
	return f.table.Put(ctx, s, sqlfence.Key{r.ID()}, sqlfence.Values{"balance": value})
}

// Delete implements [fencerowtest.Deleter].
func (f putFence) Delete(ctx context.Context, s fencerow.Stamp, r fencerow.Resource) error {
	return f.table.Delete(ctx, s, sqlfence.Key{r.ID()})
}

func (f putFence) Load(ctx context.Context, r fencerow.Resource) (value, number int64, err error) {
	value, number, err = f.rowFence.Load(ctx, r)
	if !errors.Is(err, sql.ErrNoRows) {
		return value, number, err
	}
	err = f.db.QueryRowContext(ctx, f.rebind("SELECT fence_token FROM fencerow_gate WHERE resource = $1"), string(r)).Scan(&number)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return 0, number, err
}

func holdGate(t *testing.T, d database, isolation sql.IsolationLevel, atCommit bool) {
	t.Parallel()
	a := newAccounts(t, d)
	open := func(ctx context.Context, db *sql.DB) (fencerowtest.Fence, error) {
		gate, err := sqlfence.OpenGate(ctx, db, d.dialect, &sqlfence.Options{Isolation: isolation, MaxJump: 1 << 62})
		return gateFence{a, db, gate, atCommit}, err
	}
	fencerowtest.TestFence(t, fencerowtest.FenceHarness{
		Name:        "sqlfence.Gate on " + d.name,
		Open:        func(ctx context.Context) (fencerowtest.Fence, error) { return open(ctx, a.db) },
		OpenWired:   a.wired(t, open),
		NewResource: a.insert,
		Features:    fencerowtest.Features{Claims: true, Steps: true, Sources: true, MaxJump: 1 << 62},
		Remove: func(ctx context.Context, r fencerow.Resource) error {
			if _, err := a.db.ExecContext(ctx, a.rebind("DELETE FROM account_balances WHERE account_id = $1"), r.ID()); err != nil {
				return err
			}
			_, err := a.db.ExecContext(ctx, a.rebind("INSERT INTO account_balances (account_id) VALUES ($1)"), r.ID())
			return err
		},
	})
}

// gateFence drives a gate. Reading is a transaction of its own behind the claim, as an application would do it.
type gateFence struct {
	accounts
	through  *sql.DB // the gate's own
	gate     *sqlfence.Gate
	atCommit bool
}

func (f gateFence) Claim(ctx context.Context, s fencerow.Stamp, r fencerow.Resource) (value int64, err error) {
	if err := f.gate.Claim(ctx, s, r); err != nil {
		return 0, err
	}
	err = f.gate.Shared(ctx, s, r, func(ctx context.Context, tx *sqlfence.Tx) error {
		return tx.QueryRowContext(ctx, f.rebind("SELECT balance FROM account_balances WHERE account_id = $1"), r.ID()).Scan(&value)
	})
	return value, err
}

func (f gateFence) Write(ctx context.Context, s fencerow.Stamp, r fencerow.Resource, value int64) error {
	return f.Transact(ctx, s, r, []int64{value}, func(context.Context) error { return nil })
}

// Transact implements [fencerowtest.Transactor]. It checks that the grant has claimed: Gate.Tx would claim by itself, and the kit
// asks what happens to those who do not.
func (f gateFence) Transact(ctx context.Context, s fencerow.Stamp, r fencerow.Resource, values []int64, last func(context.Context) error) error {
	if err := f.unclaimed(ctx, s, r); err != nil {
		return err
	}
	return f.run(ctx, s, r, func(ctx context.Context, tx *sqlfence.Tx) error {
		for _, value := range values {
			if _, err := tx.ExecContext(ctx, f.rebind("UPDATE account_balances SET balance = $1 WHERE account_id = $2"), value, r.ID()); err != nil {
				return err
			}
		}
		return last(ctx)
	})
}

func (f gateFence) run(ctx context.Context, s fencerow.Stamp, r fencerow.Resource, fn func(context.Context, *sqlfence.Tx) error) error {
	if f.atCommit {
		return f.gate.TxAtCommit(ctx, s, r, fn)
	}
	return f.gate.Tx(ctx, s, r, fn)
}

// Transfer implements [fencerowtest.Transferrer], between two tables.
func (f gateFence) Transfer(ctx context.Context, s fencerow.Stamp, r fencerow.Resource, amount int64) error {
	return f.run(ctx, s, r, func(ctx context.Context, tx *sqlfence.Tx) error {
		for _, statement := range []string{
			"UPDATE account_balances SET balance = balance - $1 WHERE account_id = $2",
			"UPDATE pairs SET value = value + $1 WHERE id = $2",
		} {
			result, err := tx.ExecContext(ctx, f.rebind(statement), amount, r.ID())
			if err != nil {
				return err
			}
			if n, err := result.RowsAffected(); n == 1 || err != nil {
				continue
			}
			if _, err := tx.ExecContext(ctx, f.rebind("INSERT INTO pairs (id, value) VALUES ($1, $2)"), r.ID(), amount); err != nil {
				return err
			}
		}
		return nil
	})
}

// LoadPair implements [fencerowtest.Transferrer].
func (f gateFence) LoadPair(ctx context.Context, r fencerow.Resource) (first, second int64, err error) {
	err = f.db.QueryRowContext(ctx, f.rebind("SELECT balance, COALESCE((SELECT value FROM pairs WHERE id = $1), 0) FROM account_balances WHERE account_id = $2"), r.ID(), r.ID()).Scan(&first, &second)
	return first, second, err
}

// unclaimed returns ErrUnclaimed if that is what the gate says. Any other answer is left to the transaction itself, and so is
// telling the lease: it asks with a stamp that no lease has issued.
func (f gateFence) unclaimed(ctx context.Context, s fencerow.Stamp, r fencerow.Resource) error {
	tx, err := f.through.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if _, err := f.gate.Admit(ctx, tx, s.Token().Stamp(s.Step()), r); errors.Is(err, fencerow.ErrUnclaimed) {
		return err
	}
	return nil
}

func (f gateFence) Load(ctx context.Context, r fencerow.Resource) (value, number int64, err error) {
	err = f.db.QueryRowContext(ctx, f.rebind(`
		SELECT balance, COALESCE((SELECT fence_token FROM fencerow_gate WHERE resource = $1), 0)
		  FROM account_balances WHERE account_id = $2`), string(r), r.ID()).Scan(&value, &number)
	return value, number, err
}
