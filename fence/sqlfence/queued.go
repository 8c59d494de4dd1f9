package sqlfence

import (
	"context"
	"fmt"

	"github.com/fencerow/fencerow"
)

// QueuedUpdate is an update that is sent in a batch with others, in one statement that answers exactly. Only Postgres can do that. It is
// for adapters such as fence/pgxfence.
type QueuedUpdate struct {
	Text string
	Args []any

	table *Table
	stamp fencerow.Stamp
}

// Queue returns an update of the row of a key as a statement for a batch. Send it in a transaction, and roll back if its answer is an
// error. The arguments are those of [Table.Update], without Expect.
func (t *Table) Queue(stamp fencerow.Stamp, key Key, clauses ...Clause) (QueuedUpdate, error) {
	q := QueuedUpdate{table: t, stamp: stamp}
	c, err := t.prepare(stamp, key, clauses)
	if err == nil {
		err = c.needSet()
	}
	switch {
	case err != nil:
		return q, err
	case t.dialect.name != "postgres":
		return q, fmt.Errorf("sqlfence: %s has no statement that updates and answers at once; send updates one by one", t.dialect.name)
	case !t.unique || c.expect != 1:
		return q, fmt.Errorf("sqlfence: an update in a batch needs a unique key of %s", t.schema.Name)
	}
	s, err := t.rowStatement("update_verdict", call{stamp: stamp, key: key, changes: c})
	q.Text, q.Args = s.text, s.args
	return q, err
}

// Recorded reports whether the table records the step, so that the update may be sent again until its answer is definite.
func (q QueuedUpdate) Recorded() bool { return q.table.schema.Step != "" }

// Settle hands the final answer to those concerned and returns it.
func (q QueuedUpdate) Settle(ctx context.Context, answer error) error {
	return q.stamp.Settle(ctx, q.table.opts.Observer, fencerow.Write, answer)
}

// Answer reads the answer of the row from the statement's result, which next, scan and failure read as those of a pgx.Rows do. The errors
// are those of [Table.Update].
func (q QueuedUpdate) Answer(next func() bool, scan func(dest ...any) error, failure func() error) error {
	what := fmt.Sprintf("update %s of %s", q.stamp.Token().Resource(), q.table.schema.Name)
	var seen storedMark
	var written, found bool
	for next() {
		found = true
		if err := scan(&seen.number, &seen.step, &seen.grant, &written); err != nil {
			return pending(what, err)
		}
	}
	switch err := failure(); {
	case err != nil:
		return pending(what, err)
	case written:
		return nil
	case !found:
		return fmt.Errorf("%w: no row of %s for %s", fencerow.ErrMissing, q.table.schema.Name, q.stamp.Token().Resource())
	}
	if err := seen.refuses(q.table.schema.rule(), q.stamp); err != nil {
		return err
	}
	return fmt.Errorf("%w: %s", fencerow.ErrRejected, what)
}
