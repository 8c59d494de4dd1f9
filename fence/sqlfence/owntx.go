package sqlfence

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/fencerow/fencerow"
)

// inOwnTx runs fn in a transaction and commits it if fn returns nil. A failed commit is ambiguous unless the database says
// otherwise. A panic of fn rolls back and goes on.
func inOwnTx(ctx context.Context, db *sql.DB, opts *sql.TxOptions, what string, fn func(*sql.Tx) error) error {
	conn, err := db.Conn(ctx)
	if err != nil {
		return refused(what, err)
	}
	defer conn.Close()
	tx, err := conn.BeginTx(ctx, opts)
	if err != nil {
		return pending(what, err)
	}
	committed := false
	defer func() {
		if !committed {
			_ = tx.Rollback()
		}
	}()
	if err := fn(tx); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return fmt.Errorf("sqlfence: %s: rolled back: %w", what, ctx.Err())
	}
	committed = true
	err = tx.Commit()
	if err == nil {
		return nil
	}
	if err == sql.ErrTxDone && ctx.Err() == nil {
		return fmt.Errorf("%w: %s: the function has ended the transaction itself; leave Commit and Rollback to the fence", fencerow.ErrAmbiguous, what)
	}
	// A commit that was refused as busy leaves the transaction open on SQLite; the connection goes back to the pool.
	_, _ = conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
	return answer(what, err)
}
