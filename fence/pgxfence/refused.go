package pgxfence

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/fencerow/fencerow"
)

var errZeroTx = fmt.Errorf("%w: a zero pgxfence.Tx has passed no gate", fencerow.ErrNoToken)

// on returns the transaction, or one that refuses everything.
func (t *Tx) on() pgx.Tx {
	if t.tx == nil {
		return refusedTx{}
	}
	return t.tx
}

// refusedTx stands for the transaction of a zero Tx.
type refusedTx struct{ pgx.Tx }

func (refusedTx) Exec(context.Context, string, ...any) (pgconn.CommandTag, error) {
	return pgconn.CommandTag{}, errZeroTx
}
func (refusedTx) Query(context.Context, string, ...any) (pgx.Rows, error) { return nil, errZeroTx }
func (refusedTx) QueryRow(context.Context, string, ...any) pgx.Row        { return refusedRow{} }
func (refusedTx) SendBatch(context.Context, *pgx.Batch) pgx.BatchResults  { return refusedResults{} }
func (refusedTx) CopyFrom(context.Context, pgx.Identifier, []string, pgx.CopyFromSource) (int64, error) {
	return 0, errZeroTx
}

type refusedRow struct{}

func (refusedRow) Scan(...any) error { return errZeroTx }

type refusedResults struct{ pgx.BatchResults }

func (refusedResults) Exec() (pgconn.CommandTag, error) { return pgconn.CommandTag{}, errZeroTx }
func (refusedResults) Query() (pgx.Rows, error)         { return nil, errZeroTx }
func (refusedResults) QueryRow() pgx.Row                { return refusedRow{} }
func (refusedResults) Close() error                     { return errZeroTx }
