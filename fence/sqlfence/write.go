package sqlfence

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/fencerow/fencerow"
)

// RowsError says that an update would have affected another number of rows than expected. Nothing was written.
type RowsError struct {
	Expected, Affected int64
}

// Error says what to do.
func (e *RowsError) Error() string {
	return fmt.Sprintf("sqlfence: the update affects %d rows, %d were expected, nothing was written; check the key and Expect", e.Affected, e.Expected)
}

// write is one fenced update, ready to be sent any number of times.
type write struct {
	table  *Table
	stamp  fencerow.Stamp
	key    Key
	update statement
	expect int64
}

func (w *write) what() string {
	return fmt.Sprintf("update %s of %s", w.stamp.Token().Resource(), w.table.schema.Name)
}

// alone sends the update as a statement of its own. Only if it wrote nothing is a transaction needed, to say why.
func (w *write) alone(ctx context.Context) error {
	if w.table.unique && w.expect == 1 {
		rows, err := exec(ctx, w.table.db, w.update)
		if err != nil {
			return answer(w.what(), err)
		}
		if rows == 1 {
			return nil
		}
	}
	return inOwnTx(ctx, w.table.db, nil, w.what(), func(tx *sql.Tx) error { return w.inTx(ctx, tx) })
}

// inTx sends the update in a transaction and finds the exact reason if it is refused.
func (w *write) inTx(ctx context.Context, tx *sql.Tx) error {
	rows, err := exec(ctx, tx, w.update)
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
		return fmt.Errorf("%w: no row of %s for %s", fencerow.ErrMissing, w.table.schema.Name, w.stamp.Token().Resource())
	}
	if rows == 0 {
		if err := worst(marks, w.table.schema.mode(), w.stamp); err != nil {
			return err
		}
		// The fence admits: either the rows have changed between the two statements, and are locked now, or your own
		// condition does not hold.
		if rows, err = exec(ctx, tx, w.update); err != nil {
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

// refusedRow looks for a row that the fence refused beside those that were written: their marks are this stamp's now, as
// read after the update, and read as duplicates.
func (w *write) refusedRow(marks []mark) error {
	var others []mark
	for _, m := range marks {
		err := m.decide(w.table.schema.mode(), w.stamp)
		if !errors.Is(err, fencerow.ErrDuplicate) {
			others = append(others, m)
		}
	}
	return worst(others, w.table.schema.mode(), w.stamp)
}

// worst returns the answer that matters most among several rows.
func worst(marks []mark, rule mode, stamp fencerow.Stamp) error {
	var found error
	rank := len(byWeight)
	for _, m := range marks {
		err := m.decide(rule, stamp)
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

// claim is one claim of a row, ready to be sent any number of times.
type claim struct {
	table *Table
	stamp fencerow.Stamp
	key   Key
	claim statement
	dest  []any
}

func (c *claim) what() string {
	return fmt.Sprintf("claim %s of %s", c.stamp.Token().Resource(), c.table.schema.Name)
}

func (c *claim) alone(ctx context.Context) error {
	accepted, err := c.send(ctx, c.table.db)
	switch {
	case err != nil && !accepted:
		return answer(c.what(), err)
	case accepted:
		return err
	}
	return inOwnTx(ctx, c.table.db, nil, c.what(), func(tx *sql.Tx) error { return c.inTx(ctx, tx) })
}

func (c *claim) inTx(ctx context.Context, tx *sql.Tx) error {
	// The second round is for a row that changed between the two statements of the first; it is locked by then.
	for range 2 {
		accepted, err := c.send(ctx, tx)
		switch {
		case err != nil && !accepted:
			return pending(c.what(), err)
		case accepted:
			return err
		}
		marks, err := c.table.readMarks(ctx, tx, c.stamp, c.key)
		switch {
		case err != nil:
			return pending(c.what(), err)
		case len(marks) == 0:
			return fmt.Errorf("%w: no row of %s for %s", fencerow.ErrMissing, c.table.schema.Name, c.stamp.Token().Resource())
		}
		if err := marks[0].decideClaim(c.stamp); err != nil {
			return err
		}
	}
	return fmt.Errorf("%w: %s: a trigger or policy of the table keeps the claim from being written", fencerow.ErrRejected, c.what())
}

// send sends the claim. An error beside accepted is about the returned row only: the mark is raised.
func (c *claim) send(ctx context.Context, on querier) (accepted bool, err error) {
	rows, err := on.QueryContext(ctx, c.claim.text, c.claim.args...)
	if err != nil {
		return false, err
	}
	defer rows.Close()
	var unread error
	if rows.Next() {
		accepted = true
		if err := rows.Scan(c.dest...); err != nil {
			unread = fmt.Errorf("sqlfence: %s: the mark is raised, but the row could not be read: %w", c.what(), err)
		}
	}
	// Rows that were sent do not stand before the statement has ended well.
	if err := errors.Join(rows.Close(), rows.Err()); err != nil {
		return false, err
	}
	return accepted, unread
}

// readMarks returns what the rows of a key store, read under their locks.
func (t *Table) readMarks(ctx context.Context, on querier, stamp fencerow.Stamp, key Key) ([]mark, error) {
	s, err := t.rowStatement("state", call{stamp: stamp, key: key})
	if err != nil {
		return nil, err
	}
	rows, err := on.QueryContext(ctx, s.text, s.args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var marks []mark
	for rows.Next() {
		var m mark
		if err := rows.Scan(&m.number, &m.step, &m.grant); err != nil {
			return nil, err
		}
		marks = append(marks, m)
	}
	return marks, rows.Err()
}

type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

type executor interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

func exec(ctx context.Context, on executor, s statement) (rows int64, err error) {
	result, err := on.ExecContext(ctx, s.text, s.args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}
