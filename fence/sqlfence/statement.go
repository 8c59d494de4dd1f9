package sqlfence

import (
	"strings"
	"sync"
	"sync/atomic"

	"github.com/fencerow/fencerow"
	"github.com/fencerow/fencerow/fence"
)

// statement is a text with its arguments.
type statement struct {
	text string
	args []any
}

// call is what one operation on a row brings along.
type call struct {
	stamp   fencerow.Stamp
	key     Key
	changes changes
	columns []string // to return, of a claim
	values  []value  // to insert, of a put
	number  int64    // of an override
}

// value is what a put gives to a column.
type value struct {
	column string
	value  any
}

// rowStatement returns the statement of a template under sql/row for a call. Texts are kept, because a program has few.
func (t *Table) rowStatement(name string, c call) (statement, error) {
	shape := name + "\x00" + c.shape()
	r, ok := t.texts.get(shape)
	if !ok {
		var err error
		if r, err = t.render(name, c); err != nil {
			return statement{}, err
		}
		t.texts.put(shape, r)
	}
	args := make([]any, len(r.slots))
	for i, slot := range r.slots {
		args[i] = slot(c)
	}
	return statement{text: r.text, args: args}, nil
}

// shape is what a text depends on beside its template and table.
func (c call) shape() string {
	if len(c.changes.set) == 1 && len(c.changes.where) == 0 && len(c.values) == 0 {
		return c.changes.set[0].text
	}
	var parts []string
	for _, list := range [][]Clause{c.changes.set, c.changes.where} {
		for _, clause := range list {
			parts = append(parts, clause.text)
		}
		parts = append(parts, "")
	}
	parts = append(parts, c.columns...)
	for _, v := range c.values {
		parts = append(parts, v.column)
	}
	return strings.Join(parts, "\x00")
}

// rendered is a text, and where each of its arguments comes from.
type rendered struct {
	text  string
	slots []func(call) any
}

func (t *Table) render(name string, c call) (*rendered, error) {
	d := &rowData{dialect: t.dialect, schema: t.schema, maxJump: t.opts.MaxJump, call: c}
	var text strings.Builder
	if err := rowTemplates[t.dialect.name].ExecuteTemplate(&text, name+".sql", d); err != nil {
		return nil, err
	}
	return &rendered{text: strings.TrimSpace(text.String()), slots: d.slots}, nil
}

// rowData is what the templates under sql/row see. Its methods are called where the template names them, so that arguments
// come in the order of the text.
type rowData struct {
	dialect Dialect
	schema  Schema
	maxJump int64
	call    call
	slots   []func(call) any
}

// arg adds an argument and returns its placeholder.
func (d *rowData) arg(from func(call) any) string {
	d.slots = append(d.slots, from)
	return d.dialect.placeholder(len(d.slots))
}

// Number is the placeholder of the stamp's number.
func (d *rowData) Number() string {
	return d.arg(func(c call) any { return c.stamp.Token().Number() })
}

// OverrideNumber is the placeholder of a number that is set by hand.
func (d *rowData) OverrideNumber() string { return d.arg(func(c call) any { return c.number }) }

// OverrideGrant is the placeholder of the grant id of such a number.
func (d *rowData) OverrideGrant() string { return d.arg(func(call) any { return fence.OverrideGrant }) }

// GrantID is the placeholder of the stamp's grant id.
func (d *rowData) GrantID() string {
	return d.arg(func(c call) any { return c.stamp.Token().GrantID() })
}

// SameGrant compares the grant byte for byte, whatever the column's collation.
func (d *rowData) SameGrant() string {
	if d.dialect.insertID {
		return "CAST(" + d.Grant() + " AS BINARY) = " + d.GrantID()
	}
	return d.Grant() + " = " + d.GrantID()
}

// Jumps reports whether the jump of a claim is bounded, and MaxJump by what.
func (d *rowData) Jumps() bool { return d.maxJump > 0 }

func (d *rowData) MaxJump() string {
	return d.arg(func(call) any { return d.maxJump })
}

// StepValue is the placeholder of the stamp's step.
func (d *rowData) StepValue() string { return d.arg(func(c call) any { return c.stamp.Step() }) }

// Table, Token, Step and Grant are the names of the schema, quoted; empty if there is no such column.
func (d *rowData) Table() string  { return d.dialect.quotePath(d.schema.path()) }
func (d *rowData) Token() string  { return d.dialect.quote(d.schema.Token) }
func (d *rowData) Step() string   { return d.quoteUnlessEmpty(d.schema.Step) }
func (d *rowData) Grant() string  { return d.quoteUnlessEmpty(d.schema.Grant) }
func (d *rowData) NotOlder() bool { return d.schema.NotOlder }

// Lock keeps others from changing what a SELECT returns.
func (d *rowData) Lock() string { return d.dialect.lock }

// Columns are those that a claim returns, the token first so that there is always one.
func (d *rowData) Columns() string {
	names := []string{d.dialect.quote(d.schema.Token)}
	for _, name := range d.call.columns {
		names = append(names, d.dialect.quote(name))
	}
	return strings.Join(names, ", ")
}

// Match compares the key.
func (d *rowData) Match() string {
	parts := make([]string, len(d.schema.Key))
	for i, name := range d.schema.Key {
		parts[i] = d.dialect.quote(name) + " = " + d.arg(func(c call) any { return keyArg(c.key[i]) })
	}
	return strings.Join(parts, " AND ")
}

// KeyColumns and KeyValues are the key of an insert; ValueColumns and Values what follows them, each with a comma before.
func (d *rowData) KeyColumns() string {
	parts := make([]string, len(d.schema.Key))
	for i, name := range d.schema.Key {
		parts[i] = d.dialect.quote(name)
	}
	return strings.Join(parts, ", ")
}

func (d *rowData) KeyValues() string {
	parts := make([]string, len(d.schema.Key))
	for i := range d.schema.Key {
		parts[i] = d.arg(func(c call) any { return keyArg(c.key[i]) })
	}
	return strings.Join(parts, ", ")
}

func (d *rowData) ValueColumns() string {
	var text strings.Builder
	for _, v := range d.call.values {
		text.WriteString(", " + d.dialect.quote(v.column))
	}
	return text.String()
}

func (d *rowData) Values() string {
	var text strings.Builder
	for i := range d.call.values {
		text.WriteString(", " + d.arg(func(c call) any { return c.values[i].value }))
	}
	return text.String()
}

// Set is the caller's own assignments.
func (d *rowData) Set() string {
	return strings.Join(d.parts(func(c call) []Clause { return c.changes.set }), "\n     , ")
}

// Where are the caller's own conditions.
func (d *rowData) Where() []string {
	return d.parts(func(c call) []Clause { return c.changes.where })
}

// parts writes pieces of the caller's SQL.
func (d *rowData) parts(of func(call) []Clause) []string {
	var parts []string
	for i, clause := range of(d.call) {
		n := -1
		parts = append(parts, replacePlaceholders(clause.text, func() string {
			n++
			at := n
			return d.arg(func(c call) any { return of(c)[i].args[at] })
		}))
	}
	return parts
}

func (d *rowData) quoteUnlessEmpty(name string) string {
	if name == "" {
		return ""
	}
	return d.dialect.quote(name)
}

// maxTexts bounds the memory for a program that writes its values into the SQL instead of passing arguments.
const maxTexts = 1000

// texts keeps the statements of a table by their shape.
type texts struct {
	byShape sync.Map // of string to *rendered
	count   atomic.Int64
}

func (t *texts) get(shape string) (*rendered, bool) {
	r, ok := t.byShape.Load(shape)
	if !ok {
		return nil, false
	}
	return r.(*rendered), true
}

func (t *texts) put(shape string, r *rendered) {
	if t.count.Load() < maxTexts {
		if _, found := t.byShape.LoadOrStore(shape, r); !found {
			t.count.Add(1)
		}
	}
}
