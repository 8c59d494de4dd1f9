package sqlfence

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/fencerow/fencerow"
	"github.com/fencerow/fencerow/sqlconn"
)

// inOwnTx runs fn in a transaction and commits it if fn returns nil. A failed commit is ambiguous unless the database says
// otherwise. A panic of fn rolls back and goes on.
func inOwnTx(ctx context.Context, db sqlconn.DB, isolation sql.IsolationLevel, what string, fn func(sqlconn.Tx) error) error {
	tx, err := db.Begin(ctx, isolation)
	if err != nil {
		return pending(what, err)
	}
	defer func() { _ = tx.Rollback() }()
	if err := fn(tx); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return fmt.Errorf("sqlfence: %s: rolled back: %w", what, ctx.Err())
	}
	err = tx.Commit(ctx)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, sql.ErrTxDone) && ctx.Err() == nil:
		return fmt.Errorf("%w: %s: the function has ended the transaction itself; leave Commit and Rollback to the fence", fencerow.ErrAmbiguous, what)
	}
	return answer(what, err)
}
