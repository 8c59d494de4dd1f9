package sqlfence

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"

	"github.com/fencerow/fencerow"
)

// Tx is a transaction that has passed the gate. Only a gate makes one, so a function that takes a *Tx cannot be called
// without a fence. It has the four methods that query builders and sqlc expect; Commit and Rollback are the gate's.
type Tx struct {
	tx    *sql.Tx
	stamp fencerow.Stamp
}

// Stamp returns the stamp under which the transaction runs.
func (t *Tx) Stamp() fencerow.Stamp { return t.stamp }

// SQL returns the transaction for libraries that want a *sql.Tx, and nil for a zero Tx. Leave Commit and Rollback to the gate.
func (t *Tx) SQL() *sql.Tx { return t.tx }

// ExecContext executes a statement in the transaction.
func (t *Tx) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	if t.tx == nil {
		return nil, errZeroTx
	}
	return t.tx.ExecContext(ctx, query, args...)
}

// QueryContext executes a query in the transaction.
func (t *Tx) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if t.tx == nil {
		return nil, errZeroTx
	}
	return t.tx.QueryContext(ctx, query, args...)
}

// QueryRowContext executes a query for one row in the transaction.
func (t *Tx) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	if t.tx == nil {
		return failedRow(ctx, errZeroTx)
	}
	return t.tx.QueryRowContext(ctx, query, args...)
}

// PrepareContext prepares a statement in the transaction.
func (t *Tx) PrepareContext(ctx context.Context, query string) (*sql.Stmt, error) {
	if t.tx == nil {
		return nil, errZeroTx
	}
	return t.tx.PrepareContext(ctx, query)
}

var errZeroTx = fmt.Errorf("%w: a zero sqlfence.Tx has passed no gate", fencerow.ErrNoToken)

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
