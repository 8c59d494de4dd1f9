package sqlfence

import (
	"context"

	"github.com/fencerow/fencerow"
	"github.com/fencerow/fencerow/sqlconn"
)

// Judge returns the exact answer to a fenced update of one row that you have sent yourself, with the condition of the fence in its own WHERE
// clause, as sqlc or an ORM does: rows and err are what it returned. One row is applied. For zero rows it reads the row under its lock and
// says why; [fencerow.ErrRejected] is the answer if the fence would admit the stamp now. It must be told every time, because it is what
// cancels a superseded lease and tells the observer.
//
// The errors are those of [Table.Update]. A lost answer is [fencerow.ErrAmbiguous]: send the same statement with the same stamp again.
// Within your own transaction use the table that [Table.In] returns.
func (t *Table) Judge(ctx context.Context, stamp fencerow.Stamp, key Key, rows int64, err error) error {
	return stamp.Settle(ctx, t.opts.Observer, fencerow.Write, t.judge(ctx, stamp, key, rows, err))
}

func (t *Table) judge(ctx context.Context, stamp fencerow.Stamp, key Key, rows int64, err error) error {
	if err := t.check(stamp, key); err != nil {
		return err
	}
	w := write{table: t, verb: "update", stamp: stamp, key: key, expect: 1}
	switch {
	case !t.unique || rows < 0 || rows > 1:
		return errJudge
	case err != nil && t.tx != nil:
		return pending(w.what(), err)
	case err != nil:
		return answer(w.what(), err)
	case rows == 1:
		return nil
	case t.tx != nil:
		return w.reason(ctx, t.tx)
	}
	return inOwnTx(ctx, t.db, t.dialect.rowIsolation(), w.what(), func(tx sqlconn.Tx) error { return w.reason(ctx, tx) })
}
