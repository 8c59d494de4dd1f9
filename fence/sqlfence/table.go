package sqlfence

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fencerow/fencerow"
	"github.com/fencerow/fencerow/fence"
	"github.com/fencerow/fencerow/sqlconn"
)

// Table fences the rows of one table. It has no Exec: every operation takes a stamp. It is safe for concurrent use.
type Table struct {
	db      sqlconn.DB
	tx      sqlconn.Querier // of In
	dialect Dialect
	schema  Schema
	unique  bool            // whether the key stands for one row at the most
	columns map[string]bool // in lower case
	opts    Options
	texts   *texts
	gate    gateStatements // where the marks of deleted rows are
}

var errNoDialect = errors.New("sqlfence: no dialect was given, use sqlfence.Postgres, sqlfence.MySQL or sqlfence.SQLite")

// OpenTable checks the schema against the database and returns the table. The error names everything that does not fit:
// missing columns, columns of another type, a view, a table of MySQL that is not in InnoDB. The caller keeps and closes db.
func OpenTable(ctx context.Context, db *sql.DB, dialect Dialect, schema Schema, opts *Options) (*Table, error) {
	return OpenTableOn(ctx, dialect.database(db), dialect, schema, opts)
}

// OpenTableOn is OpenTable for a database that is reached in another way than by database/sql. It is for adapters such as
// fence/pgxfence.
func OpenTableOn(ctx context.Context, db sqlconn.DB, dialect Dialect, schema Schema, opts *Options) (*Table, error) {
	if dialect.name == "" {
		return nil, errNoDialect
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
	t := &Table{db: db, dialect: dialect, schema: schema, unique: found.isUnique(schema.Key), columns: map[string]bool{},
		opts: opts.resolve(), texts: new(texts)}
	for name := range found.columns {
		t.columns[strings.ToLower(name)] = true
	}
	if schema.Tombstones {
		if err := openGate(ctx, db, dialect); err != nil {
			return nil, err
		}
		t.gate = dialect.gateStatements(false)
	}
	return t, nil
}

// Resource returns the name of the resource that protects the row of a key, to be acquired.
func (t *Table) Resource(key Key) (fencerow.Resource, error) {
	return key.resource(t.schema.Class, len(t.schema.Key))
}

// In returns the table within your transaction: the operations run there and have their effect when you commit. Roll back
// after any error. A transaction that reads before it writes should go through a [Gate].
func (t *Table) In(tx *sql.Tx) *Table { return t.On(querier{tx, t.dialect.insertID}) }

// On is In for a transaction that is reached in another way than by database/sql. It is for adapters such as fence/pgxfence.
func (t *Table) On(tx sqlconn.Querier) *Table {
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
	c, err := t.prepare(stamp, key, clauses)
	if err != nil {
		return err
	}
	if err := c.needSet(); err != nil {
		return err
	}
	w := write{table: t, verb: "update", stamp: stamp, key: key, expect: c.expect}
	if w.statement, err = t.rowStatement("update", call{stamp: stamp, key: key, changes: c}); err != nil {
		return err
	}
	return w.send(ctx)
}

// Put gives the columns of a row these values, whether the row is there or not: an update that the fence admits, or an insert. A row
// that is not there is inserted only if no newer holder has deleted it, for which the schema must keep [Schema.Tombstones]. The
// insert claims the row; an update needs the claim that the columns of the table ask for. The errors are those of
// [Table.Update], without fencerow.ErrMissing.
func (t *Table) Put(ctx context.Context, stamp fencerow.Stamp, key Key, values Values) error {
	return stamp.Settle(ctx, t.opts.Observer, fencerow.Write, t.put(ctx, stamp, key, values))
}

// Values are what [Table.Put] gives to columns, by name: Values{"balance": 100}.
type Values map[string]any

func (t *Table) put(ctx context.Context, stamp fencerow.Stamp, key Key, values Values) error {
	c, err := t.prepare(stamp, key, nil)
	if err != nil {
		return err
	}
	if !t.schema.Tombstones || !t.unique {
		return fmt.Errorf("sqlfence: a put on %s needs a unique key and Tombstones in the schema, so that a superseded holder cannot insert a row again that was deleted",
			t.schema.Name)
	}
	if len(values) == 0 {
		return errors.New("sqlfence: a put without values")
	}
	own := t.schema.columns()
	insert := call{stamp: stamp, key: key}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if slices.Contains(own, name) {
			return fmt.Errorf("sqlfence: the column %q of %s belongs to the key or the fence, and is not for Values", name, t.schema.Name)
		}
		insert.values = append(insert.values, value{name, values[name]})
		c.set = append(c.set, Set(escapePlaceholders(t.dialect.quote(name))+" = ?", values[name]))
	}
	w := write{table: t, verb: "put", stamp: stamp, key: key, expect: c.expect}
	if w.statement, err = t.rowStatement("update", call{stamp: stamp, key: key, changes: c}); err != nil {
		return err
	}
	if w.insert, err = t.rowStatement("insert", insert); err != nil {
		return err
	}
	return w.send(ctx)
}

// Delete deletes the row of a key if its fence admits the stamp, and keeps its mark in the table fencerow_gate, so that no
// superseded holder inserts it again by [Table.Put]. The schema must keep [Schema.Tombstones]. Clauses may be [Where]. The errors
// are those of [Table.Update].
func (t *Table) Delete(ctx context.Context, stamp fencerow.Stamp, key Key, clauses ...Clause) error {
	return stamp.Settle(ctx, t.opts.Observer, fencerow.Write, t.delete(ctx, stamp, key, clauses))
}

func (t *Table) delete(ctx context.Context, stamp fencerow.Stamp, key Key, clauses []Clause) error {
	c, err := t.prepare(stamp, key, clauses)
	if err != nil {
		return err
	}
	switch {
	case !t.schema.Tombstones || !t.unique:
		return fmt.Errorf("sqlfence: a delete on %s needs a unique key and Tombstones in the schema, so that the mark survives the row", t.schema.Name)
	case len(c.set) > 0 || c.expect != 1:
		return errors.New("sqlfence: a delete takes no Set and no Expect")
	}
	w := write{table: t, verb: "delete", stamp: stamp, key: key, expect: 1, buries: true}
	if w.statement, err = t.rowStatement("delete", call{stamp: stamp, key: key, changes: c}); err != nil {
		return err
	}
	return w.send(ctx)
}

// Into names the columns that [Table.Claim] returns and where to put them: Into{"balance": &balance}.
type Into map[string]any

// Claim raises the mark of the row of a key to the stamp's token and returns the row, in one statement; on MySQL in two. Do it
// before the first read that a write under this grant depends on: from then on no older holder's write is accepted, so what was
// read stays true until this grant writes or a newer one claims. The table needs a step and a grant column.
//
// The same grant may claim again, and keeps its steps. The step of the stamp does not matter, so that one stamp serves for
// claim and write. Behind a transaction of an older holder it waits for Options.ClaimTimeout; the error is a [*BlockedError] then.
// Other errors are those of [Table.Update], without those that are about steps, and [fencerow.ErrImplausible].
func (t *Table) Claim(ctx context.Context, stamp fencerow.Stamp, key Key, into Into) error {
	return stamp.Settle(ctx, t.opts.Observer, fencerow.Claim, t.claim(ctx, stamp, key, into))
}

func (t *Table) claim(ctx context.Context, stamp fencerow.Stamp, key Key, into Into) error {
	if err := t.check(stamp, key); err != nil {
		return err
	}
	if t.schema.rule() != fence.Claimed || !t.unique {
		return fmt.Errorf("sqlfence: a claim on %s needs a unique key, a step column and a grant column; name them in the schema, or use a Gate", t.schema.Name)
	}
	for name := range into {
		if t.dialect.insertID && !t.columns[strings.ToLower(name)] { // others find out in the claim itself, before it has raised the mark
			return fmt.Errorf("sqlfence: claim %s of %s: the table had no column %q when it was opened", stamp.Token().Resource(), t.schema.Name, name)
		}
	}
	return t.newClaim(stamp, key, into).send(ctx)
}

// check refuses a stamp that is not for this row.
func (t *Table) check(stamp fencerow.Stamp, key Key) error {
	resource, err := t.Resource(key)
	if err != nil {
		return err
	}
	return stamp.Check(resource)
}

// prepare checks what a write is called with, and fills in the expected number of rows.
func (t *Table) prepare(stamp fencerow.Stamp, key Key, clauses []Clause) (changes, error) {
	if err := t.check(stamp, key); err != nil {
		return changes{}, err
	}
	c, err := sortClauses(t.dialect, clauses)
	if err != nil {
		return changes{}, err
	}
	if c.expect == 0 {
		if !t.unique {
			return changes{}, fmt.Errorf("sqlfence: the key (%v) of %s is not unique; say with Expect how many rows it stands for", t.schema.Key, t.schema.Name)
		}
		c.expect = 1
	}
	return c, nil
}
