package pgxfence

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/fencerow/fencerow"
	"github.com/fencerow/fencerow/fence"
	"github.com/fencerow/fencerow/fence/sqlfence"
)

// Batch collects fenced updates, of one table or of several, and other statements, to be sent in one round trip and one transaction.
// The zero value is ready for use, by one goroutine.
type Batch struct {
	items []item
}

// item is an update, or a statement of another kind.
type item struct {
	text   string
	args   []any
	update *Queued
}

// Queued is an update in a batch.
type Queued struct {
	update sqlfence.QueuedUpdate
	err    error
}

// Err returns what the row has answered, with the errors of [sqlfence.Table.Update]. It is nil if its fence has admitted the update,
// which was applied only if the batch as a whole was, and [fencerow.ErrAmbiguous] before the batch was sent.
func (q *Queued) Err() error { return q.err }

var errUnsent = fmt.Errorf("%w: the batch was not sent up to this update", fencerow.ErrAmbiguous)

// Statement adds a statement of another kind. Its rows are not read.
func (b *Batch) Statement(sql string, args ...any) {
	b.items = append(b.items, item{text: sql, args: args})
}

// Queue adds an update of the row of a key to a batch. An error says that nothing was added. The arguments are those of
// [sqlfence.Table.Update], without Expect.
func (t *Table) Queue(batch *Batch, stamp fencerow.Stamp, key sqlfence.Key, clauses ...sqlfence.Clause) (*Queued, error) {
	update, err := t.Table.Queue(stamp, key, clauses...)
	if err != nil {
		return nil, err
	}
	q := &Queued{update: update, err: errUnsent}
	batch.items = append(batch.items, item{text: update.Text, args: update.Args, update: q})
	return q, nil
}

// Send sends the batch in a transaction: all of it is applied or nothing. A nil error means applied. Otherwise the error is the gravest
// of the updates' answers, which [Queued.Err] has one by one, that of another statement, or [fencerow.ErrAmbiguous]; it is
// [fencerow.ErrDuplicate] if all updates were applied before. After a conflict or a lost answer the batch is sent again with the same
// stamps, if every table in it stores steps.
func Send(ctx context.Context, db DB, batch *Batch) error {
	recorded := true
	for _, i := range batch.items {
		recorded = recorded && i.update != nil && i.update.update.Recorded()
	}
	on := newDatabase(db)
	err := fence.Resolve(ctx, recorded, func() error { return batch.attempt(ctx, on) })
	for _, i := range batch.items {
		if i.update == nil {
			continue
		}
		answer := i.update.err
		if err == nil || answer == nil || errors.Is(answer, fencerow.ErrDuplicate) {
			answer = err // that of the whole
		}
		i.update.err = i.update.update.Settle(ctx, answer)
	}
	return err
}

// attempt sends the batch once.
func (b *Batch) attempt(ctx context.Context, on *database) error {
	tx, err := on.Begin(ctx, 0)
	if err != nil {
		return sqlfence.Answer("begin a batch", err, false)
	}
	defer func() { _ = tx.Rollback() }()
	if err := b.send(ctx, tx.(*transaction).tx); err != nil {
		return err
	}
	if err := b.worst(); err != nil {
		return err
	}
	if err := tx.Commit(ctx); err != nil {
		return sqlfence.Answer("commit a batch", err, true)
	}
	return nil
}

// send sends everything and reads all answers.
func (b *Batch) send(ctx context.Context, tx pgx.Tx) error {
	var batch pgx.Batch
	for _, i := range b.items {
		queued := batch.Queue(i.text, i.args...)
		if q := i.update; q != nil {
			q.err = errUnsent
			queued.Query(func(rows pgx.Rows) error {
				q.err = q.update.Answer(rows.Next, rows.Scan, rows.Err)
				return nil // the others are to be asked as well
			})
		}
	}
	if err := tx.SendBatch(ctx, &batch).Close(); err != nil {
		return sqlfence.Answer("send a batch", err, false)
	}
	return nil
}

// worst returns the gravest answer. If some updates were applied before and others were not, nobody has sent this batch before: the
// duplicates are what is wrong.
func (b *Batch) worst() error {
	var found error
	for _, i := range b.items {
		if i.update == nil || i.update.err == nil {
			continue
		}
		if found == nil || errors.Is(found, fencerow.ErrDuplicate) && !errors.Is(i.update.err, fencerow.ErrDuplicate) || errors.Is(i.update.err, fencerow.ErrStale) {
			found = i.update.err
		}
	}
	return found
}
