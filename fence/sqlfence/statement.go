package sqlfence

import (
	"strings"
	"text/template"

	"github.com/fencerow/fencerow"
)

// statement is a text with its arguments.
type statement struct {
	text string
	args []any
}

// builder writes a statement for one dialect and collects its arguments in the order of their placeholders.
type builder struct {
	dialect Dialect
	args    []any
}

func (b *builder) arg(value any) string {
	b.args = append(b.args, value)
	return b.dialect.placeholder(len(b.args))
}

// part writes a piece of the caller's SQL.
func (b *builder) part(c Clause) string {
	i := 0
	return replacePlaceholders(c.text, func() string {
		i++
		return b.arg(c.args[i-1])
	})
}

var rowTemplates = template.Must(template.ParseFS(files, "sql/row/*.sql"))

// rowData is what the templates under sql/row see. Names are quoted already.
type rowData struct {
	b                  *builder
	schema             Schema
	stamp              fencerow.Stamp
	key                Key
	changes            changes
	Columns, Lock      string
	Table              string
	Token, Step, Grant string
	NotOlder           bool
}

func (t *Table) data(stamp fencerow.Stamp, key Key, c changes) *rowData {
	d := &rowData{
		b: &builder{dialect: t.dialect}, schema: t.schema, stamp: stamp, key: key, changes: c,
		Lock: t.dialect.lock, Table: t.schema.quoted(), Token: quote(t.schema.Token), NotOlder: t.schema.NotOlder,
	}
	if t.schema.Step != "" {
		d.Step = quote(t.schema.Step)
	}
	if t.schema.Grant != "" {
		d.Grant = quote(t.schema.Grant)
	}
	return d
}

// The methods below are evaluated where the template names them, so that arguments come in the order of the text.

func (d *rowData) Number() int64    { return d.stamp.Token().Number() }
func (d *rowData) StepValue() int64 { return d.stamp.Step() }
func (d *rowData) GrantID() string  { return d.stamp.Token().GrantID() }

func (d *rowData) Set() string {
	parts := make([]string, len(d.changes.set))
	for i, c := range d.changes.set {
		parts[i] = d.b.part(c)
	}
	return strings.Join(parts, ", ")
}

func (d *rowData) Where() []string {
	parts := make([]string, len(d.changes.where))
	for i, c := range d.changes.where {
		parts[i] = d.b.part(c)
	}
	return parts
}

func (d *rowData) Match() string {
	parts := make([]string, len(d.key))
	for i, value := range d.key {
		parts[i] = quote(d.schema.Key[i]) + " = " + d.b.arg(keyArg(value))
	}
	return strings.Join(parts, " AND ")
}

// Arg adds an argument and returns its placeholder.
func (d *rowData) Arg(value any) string { return d.b.arg(value) }

// render executes the template of that name.
func (d *rowData) render(name string) (statement, error) {
	var text strings.Builder
	if err := rowTemplates.ExecuteTemplate(&text, name+".sql", d); err != nil {
		return statement{}, err
	}
	return statement{text: strings.TrimSpace(text.String()), args: d.b.args}, nil
}
