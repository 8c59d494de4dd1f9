// Package gorm shows the fence with gorm. It is a package of its own, because the pure Go driver that gorm brings for SQLite has the same
// name as the one of the other examples.
package gorm

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"testing"

	"github.com/glebarez/sqlite"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/fencerow/fencerow"
	"github.com/fencerow/fencerow/fence/sqlfence"
	"github.com/fencerow/fencerow/fencerowtest"
	"github.com/fencerow/fencerow/lock/memlock"
)

// Account is a row. The fence sets its own columns, so that gorm may read them and not write them.
type Account struct {
	ID         int64
	Balance    int64
	FenceToken int64 `gorm:"->"`
	FenceStep  int64 `gorm:"->"`
}

const createAccounts = `CREATE TABLE accounts (
	id          INTEGER PRIMARY KEY,
	balance     INTEGER NOT NULL,
	fence_token INTEGER NOT NULL DEFAULT 0,
	fence_step  INTEGER NOT NULL DEFAULT 0)`

func open(dir string) (*sql.DB, *gorm.DB) {
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "example.db")+"?_txlock=immediate&_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)")
	if err != nil {
		log.Fatal(err)
	}
	for _, statement := range []string{createAccounts, "INSERT INTO accounts (id, balance) VALUES (42, 1000)"} {
		if _, err := db.Exec(statement); err != nil {
			log.Fatal(err)
		}
	}
	orm, err := gorm.Open(&sqlite.Dialector{DriverName: "sqlite", Conn: db}, &gorm.Config{Logger: logger.Discard})
	if err != nil {
		log.Fatal(err)
	}
	return db, orm
}

// within returns gorm on a transaction that has passed the gate. It begins none of its own.
func within(ctx context.Context, orm *gorm.DB, tx *sqlfence.Tx) *gorm.DB {
	session := orm.Session(&gorm.Session{NewDB: true, SkipDefaultTransaction: true, Context: ctx})
	session.Statement.ConnPool = tx
	return session
}

// Everything that gorm sends within the gate's transaction is fenced, Save included.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "fencerow-gorm-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	db, orm := open(dir)
	defer db.Close()
	gate, err := sqlfence.OpenGate(ctx, db, sqlfence.SQLite, nil)
	if err != nil {
		log.Fatal(err)
	}
	locker, err := fencerow.New(memlock.New(), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer locker.Close()
	debit := func(lease *fencerow.Lease) error {
		return gate.Tx(ctx, lease.Stamp(), "account/42", func(ctx context.Context, tx *sqlfence.Tx) error {
			orm := within(ctx, orm, tx)
			var account Account
			if err := orm.First(&account, 42).Error; err != nil {
				return err
			}
			account.Balance -= 100
			return orm.Save(&account).Error
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
	var account Account
	fmt.Println(orm.First(&account, 42).Error, account.Balance)

	// Output:
	// <nil>
	// <nil>
	// true
	// <nil> 800
}

// Row writes the columns of the fence by gorm itself, as a fence that is written by hand does.
type Row struct {
	ID         int64
	Balance    int64
	FenceToken int64
	FenceStep  int64
}

// TableName implements gorm's Tabler.
func (Row) TableName() string { return "accounts" }

// Save of a row that no longer passes the fence becomes an upsert: it writes all the same, and sets the token back. The triggers of the
// table refuse it.
func TestSaveFallsBackToAnUpsert(t *testing.T) {
	stale := Row{ID: 42, Balance: 0, FenceToken: 33, FenceStep: 1}
	save := func(orm *gorm.DB) error { return orm.Where("fence_token < ?", 33).Save(&stale).Error }
	t.Run("trap", func(t *testing.T) {
		db, orm := open(t.TempDir())
		defer db.Close()
		if err := orm.Exec("UPDATE accounts SET fence_token = 34").Error; err != nil {
			t.Fatal(err)
		}
		err := save(orm)
		var row Row
		if findErr := orm.First(&row, 42).Error; findErr != nil || err != nil || row.FenceToken != 33 || row.Balance != 0 {
			t.Errorf("the trap is gone: %v, %+v", err, row)
		}
	})
	t.Run("cure", func(t *testing.T) {
		db, orm := open(t.TempDir())
		defer db.Close()
		schema := sqlfence.Schema{Name: "accounts", Class: "account", Key: []string{"id"}, Step: "fence_step"}
		if err := sqlfence.CreateTriggers(t.Context(), db, sqlfence.SQLite, sqlfence.Enforcement{Schema: schema, Mode: sqlfence.Enforce}); err != nil {
			t.Fatal(err)
		}
		accounts, err := sqlfence.OpenTable(t.Context(), db, sqlfence.SQLite, schema, nil)
		if err != nil {
			t.Fatal(err)
		}
		newer := fencerowtest.Token("test:1", "account/42", 34)
		if err := accounts.Update(t.Context(), newer.Stamp(1), sqlfence.Key{42}, sqlfence.Set("balance = 900")); err != nil {
			t.Fatal(err)
		}
		if err := sqlfence.Refusal(save(orm)); !errors.Is(err, fencerow.ErrStale) {
			t.Errorf("Save: %v, want stale", err)
		}
		if err := sqlfence.Refusal(orm.Model(&Account{}).Where("id = 42").Update("balance", 0).Error); !errors.Is(err, fencerow.ErrUnfenced) {
			t.Errorf("an update that has forgotten the fence: %v", err)
		}
		var row Row
		if err := orm.First(&row, 42).Error; err != nil || row.FenceToken != 34 || row.Balance != 900 {
			t.Errorf("%v, %+v", err, row)
		}
	})
}
