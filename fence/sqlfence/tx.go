package sqlfence

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"

	"github.com/fencerow/fencerow"
	"github.com/fencerow/fencerow/sqlconn"
)

// Tx is a transaction that has passed the gate. Only a gate makes one, so a function that takes a *Tx cannot be called
// without a fence. It has the four methods that query builders and sqlc expect; Commit and Rollback are the gate's.
type Tx struct {
	on    sqlconn.Tx
	stamp fencerow.Stamp
}

// Stamp returns the stamp under which the transaction runs.
func (t *Tx) Stamp() fencerow.Stamp { return t.stamp }

// SQL returns the transaction for libraries that want a *sql.Tx, and nil for a zero Tx or one that is reached in another way. Leave
// Commit and Rollback to the gate.
func (t *Tx) SQL() *sql.Tx {
	if own, ok := t.on.(*transaction); ok {
		return own.tx
	}
	return nil
}

// On returns the transaction as the gate's connection has begun it, and nil for a zero Tx. It is for adapters such as fence/pgxfence.
func (t *Tx) On() sqlconn.Tx { return t.on }

// ExecContext executes a statement in the transaction.
func (t *Tx) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	tx := t.SQL()
	if tx == nil {
		return nil, errNoTx
	}
	return tx.ExecContext(ctx, query, args...)
}

// QueryContext executes a query in the transaction.
func (t *Tx) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	tx := t.SQL()
	if tx == nil {
		return nil, errNoTx
	}
	return tx.QueryContext(ctx, query, args...)
}

// QueryRowContext executes a query for one row in the transaction.
func (t *Tx) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	tx := t.SQL()
	if tx == nil {
		return failedRow(ctx, errNoTx)
	}
	return tx.QueryRowContext(ctx, query, args...)
}

// PrepareContext prepares a statement in the transaction.
func (t *Tx) PrepareContext(ctx context.Context, query string) (*sql.Stmt, error) {
	tx := t.SQL()
	if tx == nil {
		return nil, errNoTx
	}
	return tx.PrepareContext(ctx, query)
}

var errNoTx = fmt.Errorf("%w: a zero sqlfence.Tx has passed no gate, and one of another library is used by that library", fencerow.ErrNoToken)

// failedRow returns a row whose Scan is err. Only database/sql can make one.
func failedRow(ctx context.Context, err error) *sql.Row {
	db := sql.OpenDB(refusing{err})
	defer db.Close()
	return db.QueryRowContext(ctx, "")
}

// refusing is a database that nobody can connect to.
type refusing struct{ err error }

func (r refusing) Connect(context.Context) (driver.Conn, error) { return nil, r.err }
func (r refusing) Driver() driver.Driver                        { return r }
func (r refusing) Open(string) (driver.Conn, error)             { return nil, r.err }
