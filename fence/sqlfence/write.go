package sqlfence

import (
	"context"
	"errors"
	"fmt"

	"github.com/fencerow/fencerow"
	"github.com/fencerow/fencerow/fence"
	"github.com/fencerow/fencerow/sqlconn"
)

// RowsError says that an update would have affected another number of rows than expected. Nothing was written.
type RowsError struct {
	Expected, Affected int64
}

// Error says what to do.
func (e *RowsError) Error() string {
	return fmt.Sprintf("sqlfence: the update affects %d rows, %d were expected, nothing was written; check the key and Expect", e.Affected, e.Expected)
}

// write is one fenced write, ready to be sent any number of times.
type write struct {
	table     *Table
	verb      string
	stamp     fencerow.Stamp
	key       Key
	statement statement
	expect    int64
	insert    statement // of a put, for a row that is not there
	buries    bool      // the mark outlives the row
}

func (w *write) what() string {
	return fmt.Sprintf("%s %s of %s", w.verb, w.stamp.Token().Resource(), w.table.schema.Name)
}

func (w *write) send(ctx context.Context) error {
	if w.table.tx != nil {
		return w.inTx(ctx, w.table.tx)
	}
	recorded := w.table.schema.Step != ""
	return fence.Resolve(ctx, recorded, func() error { return w.alone(ctx) })
}

// alone sends the write as a statement of its own. Only if that wrote nothing is a transaction needed, to say why, or to insert.
func (w *write) alone(ctx context.Context) error {
	if w.single() && !w.buries {
		result, err := w.table.db.Exec(ctx, w.statement.text, w.statement.args...)
		if err != nil {
			return answer(w.what(), err)
		}
		if result.Rows == 1 {
			return nil
		}
		if w.table.dialect.insertID {
			if err, known := packetAnswer(result, w.stamp); known {
				return err
			}
		}
	}
	// READ COMMITTED, so that what is read under a lock is what is stored.
	return inOwnTx(ctx, w.table.db, w.table.dialect.rowIsolation(), w.what(), func(tx sqlconn.Tx) error { return w.inTx(ctx, tx) })
}

// single reports whether the write is about one row of a unique key.
func (w *write) single() bool { return w.table.unique && w.expect == 1 }

// inTx sends the write in a transaction and finds the exact reason if it is refused.
func (w *write) inTx(ctx context.Context, tx sqlconn.Querier) error {
	if err := w.countsMatches(ctx, tx); err != nil {
		return err
	}
	if w.buries {
		return w.buryFirst(ctx, tx)
	}
	rows, err := w.written(ctx, tx)
	if err != nil {
		return pending(w.what(), err)
	}
	if rows == w.expect {
		return nil
	}
	marks, err := w.table.readMarks(ctx, tx, w.stamp, w.key)
	if err != nil {
		return pending(w.what(), err)
	}
	if len(marks) == 0 {
		return w.missing(ctx, tx)
	}
	if rows == 0 {
		if err := worst(marks, w.table.schema.rule(), w.stamp); err != nil {
			return err
		}
		// The fence admits: either the rows have changed between the two statements, and are locked now, or your own
		// condition does not hold.
		if rows, err = w.written(ctx, tx); err != nil {
			return pending(w.what(), err)
		}
	}
	switch {
	case rows == w.expect:
		return nil
	case rows == 0:
		return fmt.Errorf("%w: %s", fencerow.ErrRejected, w.what())
	case rows < w.expect && int64(len(marks)) == w.expect:
		if err := w.refusedRow(marks); err != nil {
			return err
		}
	}
	return &RowsError{Expected: w.expect, Affected: rows}
}

// reason says why nothing was written.
func (w *write) reason(ctx context.Context, tx sqlconn.Querier) error {
	marks, err := w.table.readMarks(ctx, tx, w.stamp, w.key)
	switch {
	case err != nil:
		return pending(w.what(), err)
	case len(marks) == 0:
		return w.missing(ctx, tx)
	}
	if err := worst(marks, w.table.schema.rule(), w.stamp); err != nil {
		return err
	}
	return fmt.Errorf("%w: %s", fencerow.ErrRejected, w.what())
}

// written sends the statement and returns how many rows it has written.
func (w *write) written(ctx context.Context, tx sqlconn.Querier) (int64, error) {
	result, err := tx.Exec(ctx, w.statement.text, w.statement.args...)
	if err == nil && w.table.dialect.insertID && w.single() && !w.buries {
		// The number of rows may be 0 for a row that was written with what it held already. A trigger may have used the packet.
		if result.InsertID == packetWritten || result.Rows == 1 {
			return 1, nil
		}
		return 0, nil
	}
	return result.Rows, err
}

// countsMatches finds out whether a connection of MySQL counts the rows that were found, for a write that may leave a row as it is,
// where the packet alone does not tell: there are several rows, or a trigger has used it.
func (w *write) countsMatches(ctx context.Context, tx sqlconn.Querier) error {
	if !w.table.dialect.insertID || !w.table.schema.NotOlder {
		return nil
	}
	marks, err := w.table.readMarks(ctx, tx, w.stamp, w.key)
	if err != nil {
		return pending(w.what(), err)
	}
	if len(marks) == 0 || worst(marks, fence.NotOlder, w.stamp) != nil {
		return nil // there is another answer
	}
	s, err := w.table.rowStatement("matched", call{stamp: w.stamp, key: w.key})
	if err != nil {
		return err
	}
	result, err := tx.Exec(ctx, s.text, s.args...)
	if err != nil {
		return pending(w.what(), err)
	}
	if result.Rows != int64(len(marks)) {
		return fmt.Errorf("sqlfence: %s: this connection counts the rows that were changed, not those that were found, so that a row that holds the new values already looks refused; set clientFoundRows=true, or give the table a step column", w.what())
	}
	return nil
}

// missing is the answer where there is no row: that of the mark which a deleted row has left, or to insert it.
func (w *write) missing(ctx context.Context, tx sqlconn.Querier) error {
	var left fence.Mark
	if w.table.schema.Tombstones {
		var err error
		if left, err = w.table.gate.read(ctx, tx, w.table.gate.state, w.stamp.Token().Resource()); err != nil {
			return pending(w.what(), err)
		}
		// A row that does not exist needs no claim: whoever inserts it has it.
		if err := left.Write(fence.Claimed, w.stamp); err != nil && !errors.Is(err, fencerow.ErrUnclaimed) {
			return err
		}
	}
	if w.insert.text == "" {
		return fmt.Errorf("%w: no row of %s for %s", fencerow.ErrMissing, w.table.schema.Name, w.stamp.Token().Resource())
	}
	result, err := tx.Exec(ctx, w.insert.text, w.insert.args...)
	switch {
	case err == nil && result.Rows == 1:
		return nil
	case err == nil:
		return fmt.Errorf("%w: %s: somebody else has inserted it meanwhile", fencerow.ErrConflict, w.what())
	case w.table.dialect.insertID:
		// The key that exists may be that of another index.
		marks, lookErr := w.table.readMarks(ctx, tx, w.stamp, w.key)
		if lookErr != nil {
			return pending(w.what(), lookErr)
		}
		if len(marks) > 0 {
			return fmt.Errorf("%w: %s: somebody else has inserted it meanwhile: %w", fencerow.ErrConflict, w.what(), err)
		}
	}
	return pending(w.what(), err)
}

// buryFirst keeps the mark of a row, and then deletes the row: a trigger may insist on that order. Whatever goes wrong ends the
// transaction, and with it the mark that was kept for nothing.
func (w *write) buryFirst(ctx context.Context, tx sqlconn.Querier) error {
	marks, err := w.table.readMarks(ctx, tx, w.stamp, w.key)
	switch {
	case err != nil:
		return pending(w.what(), err)
	case len(marks) == 0:
		return w.missing(ctx, tx)
	}
	if err := marks[0].refuses(w.table.schema.rule(), w.stamp); err != nil {
		return err
	}
	if err := w.bury(ctx, tx); err != nil {
		return err
	}
	rows, err := w.written(ctx, tx)
	switch {
	case err != nil:
		return pending(w.what(), err)
	case rows == 0:
		return fmt.Errorf("%w: %s", fencerow.ErrRejected, w.what())
	}
	return nil
}

// bury keeps the mark of a row that is to be deleted, which is locked.
func (w *write) bury(ctx context.Context, tx sqlconn.Querier) error {
	g, token := w.table.gate, w.stamp.Token()
	left, err := g.read(ctx, tx, g.state, token.Resource())
	if err != nil {
		return pending(w.what(), err)
	}
	err = left.Write(fence.Claimed, w.stamp)
	switch fencerow.VerdictOf(err) {
	case fencerow.Applied, fencerow.Unclaimed:
	case fencerow.Duplicate, fencerow.OutOfOrder:
		return nil // the gate has seen a later step of the same grant
	default:
		return err
	}
	return g.set(ctx, tx, w.what(), token.Resource(), fence.WriteOf(w.stamp))
}

// refusedRow looks for a row that the fence refused beside those that were written: their marks are this stamp's now, as
// read after the update, and read as duplicates.
func (w *write) refusedRow(marks []storedMark) error {
	var others []storedMark
	for _, m := range marks {
		err := m.refuses(w.table.schema.rule(), w.stamp)
		if !errors.Is(err, fencerow.ErrDuplicate) {
			others = append(others, m)
		}
	}
	return worst(others, w.table.schema.rule(), w.stamp)
}

// worst returns the answer that matters most among several rows.
func worst(marks []storedMark, rule fence.Rule, stamp fencerow.Stamp) error {
	var found error
	rank := len(byWeight)
	for _, m := range marks {
		err := m.refuses(rule, stamp)
		if err == nil {
			continue
		}
		for i, verdict := range byWeight {
			if fencerow.VerdictOf(err) == verdict && i < rank {
				found, rank = err, i
			}
		}
	}
	return found
}

// byWeight are the reasons of a refusal, the gravest first.
var byWeight = []fencerow.Verdict{
	fencerow.Stale, fencerow.TokenReused, fencerow.Unfenced, fencerow.Unclaimed, fencerow.OutOfOrder, fencerow.Duplicate,
}

// readMarks returns what the rows of a key store, read under their locks.
func (t *Table) readMarks(ctx context.Context, on sqlconn.Querier, stamp fencerow.Stamp, key Key) ([]storedMark, error) {
	s, err := t.rowStatement("state", call{stamp: stamp, key: key})
	if err != nil {
		return nil, err
	}
	var marks []storedMark
	var m storedMark
	err = eachRow(ctx, on, s.text, s.args, []any{&m.number, &m.step, &m.grant}, func() { marks = append(marks, m) })
	return marks, err
}
