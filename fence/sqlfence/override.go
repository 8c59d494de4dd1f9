package sqlfence

import (
	"context"
	"fmt"

	"github.com/fencerow/fencerow"
	"github.com/fencerow/fencerow/fence"
	"github.com/fencerow/fencerow/sqlconn"
)

// Overridden is one override, as the database has recorded it.
type Overridden struct {
	fence.Override
	Place     string // fencerow_gate, or the table of the row
	OldSource string
	OldNumber int64
}

// OverrideSchema returns the statement that creates the table of the overrides, for a schema that is kept elsewhere.
func OverrideSchema(dialect Dialect) string { return dialect.statement("override_schema") }

const noOverrides = "open the overrides: the table fencerow_override is missing or of another shape; create it with OverrideSchema"

// Override sets the mark of a resource by hand, in one transaction with a record of who did so and why in the table
// fencerow_override, which it creates if it is not there. From then on only numbers above it are admitted. See [fence.Override]
// for when to do that.
func (g *Gate) Override(ctx context.Context, resource fencerow.Resource, o fence.Override) error {
	if err := resource.Validate(); err != nil {
		return err
	}
	if err := o.Check(); err != nil {
		return err
	}
	return override{resource: resource, place: gateTable, Override: o,
		read: func(tx sqlconn.Querier) (fence.Mark, error) {
			before, err := g.stmt.read(ctx, tx, g.stmt.state, resource)
			if err == nil && before.Source == "" && o.Source == "" {
				err = fmt.Errorf("fence: override: the gate of %s has no source yet, say which it is to follow", resource)
			}
			return before, err
		},
		write: func(tx sqlconn.Querier, after fence.Mark) error {
			return g.stmt.set(ctx, tx, "override the mark of "+string(resource), resource, after)
		},
	}.run(ctx, g.db, g.dialect)
}

const gateTable = "fencerow_gate"

// Override sets the mark of a row by hand, in one transaction with a record in the table fencerow_override, as [Gate.Override]
// does. A table stores no source, so that the override must not name one.
func (t *Table) Override(ctx context.Context, key Key, o fence.Override) error {
	resource, err := t.Resource(key)
	if err == nil {
		err = o.Check()
	}
	switch {
	case err != nil:
		return err
	case o.Source != "":
		return fmt.Errorf("fence: override: the table %s stores no source, leave it out", t.schema.Name)
	case !t.unique || t.tx != nil:
		return fmt.Errorf("fence: override: %s needs a unique key, and a transaction of its own", t.schema.Name)
	}
	c := call{key: key, number: o.Number}
	return override{resource: resource, place: t.schema.Name, Override: o,
		read: func(tx sqlconn.Querier) (before fence.Mark, err error) {
			marks, err := t.readMarks(ctx, tx, fencerow.Stamp{}, key)
			if err != nil {
				return before, err
			}
			if len(marks) == 0 {
				return before, fmt.Errorf("%w: no row of %s for %s", fencerow.ErrMissing, t.schema.Name, resource)
			}
			return fence.Mark{Number: marks[0].number.Int64, Step: marks[0].step.Int64, GrantID: marks[0].grant.String}, nil
		},
		write: func(tx sqlconn.Querier, _ fence.Mark) error {
			s, err := t.rowStatement("override", c)
			if err == nil {
				_, err = tx.Exec(ctx, s.text, s.args...)
			}
			return err
		},
	}.run(ctx, t.db, t.dialect)
}

// override sets one mark and records it.
type override struct {
	fence.Override
	resource fencerow.Resource
	place    string
	read     func(sqlconn.Querier) (fence.Mark, error) // under its lock
	write    func(sqlconn.Querier, fence.Mark) error
}

func (o override) run(ctx context.Context, db sqlconn.DB, d Dialect) error {
	if err := openTable(ctx, db, d, "override", noOverrides); err != nil {
		return err
	}
	what := fmt.Sprintf("override the mark of %s in %s", o.resource, o.place)
	return fence.Resolve(ctx, true, func() error {
		return inOwnTx(ctx, db, d.rowIsolation(), what, func(tx sqlconn.Tx) error {
			if err := o.inTx(ctx, tx, d); err != nil {
				return pending(what, err)
			}
			return nil
		})
	})
}

// inTx records first: a trigger on the row admits what is on record.
func (o override) inTx(ctx context.Context, tx sqlconn.Querier, d Dialect) error {
	before, err := o.read(tx)
	if err != nil {
		return err
	}
	after := o.Replace(before)
	record := d.named("override_record")
	_, err = tx.Exec(ctx, record.text, record.args(values{
		"resource": string(o.resource), "place": o.place, "old_source": before.Source, "old_number": before.Number, "old_grant": before.GrantID,
		"source": after.Source, "number": after.Number, "by": o.By, "why": o.Why,
	})...)
	if err != nil {
		return err
	}
	return o.write(tx, after)
}

// Overrides returns the overrides of a resource, in the gate and in the tables of this database, the oldest first.
func (g *Gate) Overrides(ctx context.Context, resource fencerow.Resource) ([]Overridden, error) {
	if err := openTable(ctx, g.db, g.dialect, "override", noOverrides); err != nil {
		return nil, err
	}
	list := g.dialect.named("override_list")
	var found []Overridden
	var o Overridden
	err := eachRow(ctx, g.db, list.text, list.args(values{"resource": string(resource)}),
		[]any{&o.Place, &o.OldSource, &o.OldNumber, &o.Source, &o.Number, &o.By, &o.Why}, func() { found = append(found, o) })
	if err != nil {
		return nil, refused("list the overrides of "+string(resource), err)
	}
	return found, nil
}
