package sqlfence

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/fencerow/fencerow"
)

// Table fences the rows of one table. It has no Exec: every operation takes a stamp. It is safe for concurrent use.
type Table struct {
	db      *sql.DB
	tx      *sql.Tx // of In
	dialect Dialect
	schema  Schema
	unique  bool // whether the key stands for one row at the most
	opts    Options
	texts   *texts
}

// OpenTable checks the schema against the database and returns the table. The error names everything that does not fit:
// missing columns, columns of another type, a view.
func OpenTable(ctx context.Context, db *sql.DB, dialect Dialect, schema Schema, opts *Options) (*Table, error) {
	if dialect.name == "" {
		return nil, errors.New("sqlfence: no dialect was given, use sqlfence.Postgres or sqlfence.SQLite")
	}
	schema, err := schema.resolve()
	if err != nil {
		return nil, fmt.Errorf("sqlfence: open table %q: %w", schema.Name, err)
	}
	found, err := dialect.describe(ctx, dialect, db, schema.path())
	if err == nil {
		err = found.check(dialect, schema)
	}
	if err != nil {
		return nil, fmt.Errorf("sqlfence: open table %q: %w", schema.Name, err)
	}
	return &Table{db: db, dialect: dialect, schema: schema, unique: found.isUnique(schema.Key), opts: opts.resolve(), texts: new(texts)}, nil
}

// Resource returns the name of the resource that protects the row of a key, to be acquired.
func (t *Table) Resource(key Key) (fencerow.Resource, error) {
	return key.resource(t.schema.Class, len(t.schema.Key))
}

// In returns the table within your transaction: the operations run there and have their effect when you commit. Roll back
// after any error. A transaction that reads before it writes should go through a [Gate].
func (t *Table) In(tx *sql.Tx) *Table {
	bound := *t
	bound.tx = tx
	return &bound
}

// Update changes the row of a key if its fence admits the stamp, in one statement that also records the stamp.
//
// A nil error means applied. Otherwise nothing was written, unless the error is [fencerow.ErrAmbiguous], and the error is one
// of [fencerow.ErrStale], [fencerow.ErrDuplicate], [fencerow.ErrOutOfOrder], [fencerow.ErrUnclaimed],
// [fencerow.ErrTokenReused], [fencerow.ErrMissing], [fencerow.ErrRejected], [fencerow.ErrUnfenced], [fencerow.ErrMismatch],
// [fencerow.ErrNoToken], [fencerow.ErrConflict], a [*RowsError], or a failure of the database.
func (t *Table) Update(ctx context.Context, stamp fencerow.Stamp, key Key, clauses ...Clause) error {
	return stamp.Settle(ctx, t.opts.Observer, fencerow.Write, t.update(ctx, stamp, key, clauses))
}

func (t *Table) update(ctx context.Context, stamp fencerow.Stamp, key Key, clauses []Clause) error {
	if err := t.check(stamp, key); err != nil {
		return err
	}
	c, err := sortClauses(clauses)
	if err != nil {
		return err
	}
	if c.expect == 0 {
		if !t.unique {
			return fmt.Errorf("sqlfence: the key (%v) of %s is not unique; say with Expect how many rows it stands for", t.schema.Key, t.schema.Name)
		}
		c.expect = 1
	}
	w := write{table: t, stamp: stamp, key: key, expect: c.expect}
	if w.update, err = t.rowStatement("update", call{stamp: stamp, key: key, changes: c}); err != nil {
		return err
	}
	if t.tx != nil {
		return w.inTx(ctx, t.tx)
	}
	recorded := t.schema.Step != ""
	return resolve(ctx, recorded, func() error { return w.alone(ctx) })
}

// Into names the columns that [Table.Claim] returns and where to put them: Into{"balance": &balance}.
type Into map[string]any

// Claim raises the mark of the row of a key to the stamp's token and returns the row, in one statement. Do it before the
// first read that a write under this grant depends on: from then on no older holder's write is accepted, so what was read
// stays true until this grant writes or a newer one claims. The table needs a step and a grant column.
//
// The same grant may claim again, and keeps its steps. The step of the stamp does not matter, so that one stamp serves for
// claim and write. The errors are those of [Table.Update], without those that are about steps.
func (t *Table) Claim(ctx context.Context, stamp fencerow.Stamp, key Key, into Into) error {
	return stamp.Settle(ctx, t.opts.Observer, fencerow.Claim, t.claim(ctx, stamp, key, into))
}

func (t *Table) claim(ctx context.Context, stamp fencerow.Stamp, key Key, into Into) error {
	if err := t.check(stamp, key); err != nil {
		return err
	}
	if t.schema.mode() != claimedMode || !t.unique {
		return fmt.Errorf("sqlfence: a claim on %s needs a unique key, a step column and a grant column; name them in the schema, or use a Gate", t.schema.Name)
	}
	c := claim{table: t, stamp: stamp, key: key, dest: []any{new(int64)}}
	columns := slices.Sorted(maps.Keys(into))
	for _, name := range columns {
		c.dest = append(c.dest, into[name])
	}
	var err error
	if c.claim, err = t.rowStatement("claim", call{stamp: stamp, key: key, columns: columns}); err != nil {
		return err
	}
	if t.tx != nil {
		return c.inTx(ctx, t.tx)
	}
	return resolve(ctx, true, func() error { return c.alone(ctx) })
}

// check refuses a stamp that is not for this row.
func (t *Table) check(stamp fencerow.Stamp, key Key) error {
	resource, err := t.Resource(key)
	if err != nil {
		return err
	}
	return stamp.Check(resource)
}
