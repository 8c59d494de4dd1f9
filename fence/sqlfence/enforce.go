package sqlfence

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/template"

	"github.com/fencerow/fencerow"
	"github.com/fencerow/fencerow/sqlconn"
)

// Mode is what the triggers of a table do about a write that they would refuse.
type Mode int

const (
	// LogOnly lets it through and records it in the table fencerow_violation: to find the writers that do not know the fence yet.
	// On Postgres and MySQL the mark of a row does not go down even so.
	LogOnly Mode = iota + 1
	// Enforce refuses it, whoever sends it: an application that has forgotten the fence, a superseded holder, or a person.
	Enforce
)

// Enforcement has the database itself refuse what goes around the fence, by triggers on a table. They protect against forgetting, not
// against malice: whoever may drop a trigger, or writes the fence's columns himself, gets past them.
//
// # By the row's own columns
//
// With Schema, which needs a step column unless each grant writes a row once, a trigger compares the columns of the fence before and
// after. It admits an update that moves (token, step) forward, an insert above the mark of a deleted row, and a delete whose mark was
// kept in fencerow_gate before: what [Table.Update], [Table.Claim], [Table.Put] and [Table.Delete] do, and what a program in another
// language does that writes the columns as their statements do. An update that leaves the columns alone is unfenced, one that lowers
// them is stale. On Postgres a transaction that has passed the [Gate] of the row's own resource, with Options.TellTriggers, or that has
// set fencerow.resource and fencerow.token by set_config(…, …, true), may leave the columns to the trigger, which fills them in.
//
// # By the gate
//
// With GateClass, on Postgres only, a trigger asks that the transaction has passed the gate of a resource of that class, by
// [Gate.Tx], [Gate.Shared] or [Gate.Admit] of a gate with Options.TellTriggers, and that the gate still stores its number and grant. The
// table needs no columns. It suits a lock that covers many rows or tables. A transaction that passes the gate only at its commit is
// refused.
//
// # What is covered
//
// On Postgres the triggers also refuse TRUNCATE and fire for foreign key cascades, and in sessions whose replication role is
// "replica". On MySQL no trigger fires for TRUNCATE, for which the right to drop the table is needed, nor for cascades. On SQLite,
// INSERT OR REPLACE is covered.
type Enforcement struct {
	Schema    Schema
	GateClass string
	Mode      Mode
}

// EnforceOn creates the triggers, or replaces those of an earlier call, and the tables that they need.
func EnforceOn(ctx context.Context, db sqlconn.DB, dialect Dialect, e Enforcement) error {
	if dialect.name == "" {
		return errNoDialect
	}
	schema, err := e.resolve(dialect)
	if err != nil {
		return err
	}
	found, err := dialect.describe(ctx, dialect, db, schema.path())
	switch {
	case err != nil:
	case e.GateClass == "":
		err = found.check(dialect, schema)
	case found.kind != "table":
		err = fmt.Errorf("%s is not a table", schema.Name)
	}
	if err == nil && e.GateClass == "" && !found.isUnique(schema.Key) {
		err = fmt.Errorf("the key (%v) is not unique; one mark cannot stand for several rows", schema.Key)
	}
	if err != nil {
		return fmt.Errorf("sqlfence: enforce the fence of %q: %w", schema.Name, err)
	}
	statements, err := dialect.enforcement(e, schema, found)
	if err != nil {
		return err
	}
	for _, statement := range statements {
		if _, err := db.Exec(ctx, statement); err != nil {
			return refused(fmt.Sprintf("enforce the fence of %q", schema.Name), err)
		}
	}
	return nil
}

// CreateTriggers creates the triggers of an enforcement, or replaces those of an earlier call, and the tables that they need. On
// Postgres that takes a short lock against all writers of the table; give the connection a lock_timeout.
func CreateTriggers(ctx context.Context, db *sql.DB, dialect Dialect, e Enforcement) error {
	return EnforceOn(ctx, dialect.database(db), dialect, e)
}

// DropTriggers drops the triggers of a table, if there are any. The tables that they used stay.
func DropTriggers(ctx context.Context, db *sql.DB, dialect Dialect, table string) error {
	if dialect.name == "" {
		return errNoDialect
	}
	d := enforceData{dialect: dialect, schema: Schema{Name: table}}
	statements, err := d.render("drop")
	if err != nil {
		return err
	}
	for _, statement := range statements {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return refused(fmt.Sprintf("drop the triggers of %q", table), err)
		}
	}
	return nil
}

// TriggerStatements returns the statements of CreateTriggers for a schema that is kept elsewhere. Columns are all those of the table,
// which the triggers of MySQL and SQLite compare; make the statements anew when the table gets another one.
func TriggerStatements(dialect Dialect, e Enforcement, columns []string) ([]string, error) {
	if dialect.name == "" {
		return nil, errNoDialect
	}
	schema, err := e.resolve(dialect)
	if err != nil {
		return nil, err
	}
	c := catalog{columns: map[string]string{}}
	for _, name := range columns {
		c.columns[name] = ""
	}
	return dialect.enforcement(e, schema, c)
}

func (e Enforcement) resolve(d Dialect) (Schema, error) {
	schema := e.Schema
	fail := func(format string, args ...any) (Schema, error) {
		return schema, fmt.Errorf("sqlfence: enforce the fence of %q: %w", schema.Name, fmt.Errorf(format, args...))
	}
	if e.Mode != LogOnly && e.Mode != Enforce {
		return fail("say which mode: LogOnly, or Enforce")
	}
	if e.GateClass != "" {
		if d.name != "postgres" {
			return fail("on %s a trigger cannot know which gate a transaction has passed; enforce the columns of the row", d.name)
		}
		if schema.Class != "" || len(schema.Key) > 0 || schema.Token != "" || schema.Step != "" || schema.Grant != "" {
			return fail("with GateClass the schema has a name only, its columns do not matter")
		}
		if err := fencerow.Resource(e.GateClass + "/id").Validate(); err != nil {
			return fail("%w", err)
		}
		return schema, nil
	}
	if schema.NotOlder {
		return fail("with NotOlder a write may leave the token as it is, and cannot be told from an unfenced one; add a step column")
	}
	schema, err := schema.resolve()
	if err != nil {
		return fail("%w", err)
	}
	return schema, nil
}

func (d Dialect) enforcement(e Enforcement, schema Schema, c catalog) ([]string, error) {
	data := enforceData{dialect: d, schema: schema, mode: e.Mode, gateClass: e.GateClass}
	for name := range c.columns {
		data.columns = append(data.columns, name)
	}
	slices.Sort(data.columns)
	statements := []string{GateSchema(d), OverrideSchema(d), d.statement("violation_schema")}
	for _, name := range []string{"drop", "create"} {
		if name == "create" && e.GateClass != "" {
			name = "create_gated"
		}
		more, err := data.render(name)
		if err != nil {
			return nil, err
		}
		statements = append(statements, more...)
	}
	return statements, nil
}

// enforceData is what the templates under sql/<dialect>/enforce see.
type enforceData struct {
	dialect   Dialect
	schema    Schema
	mode      Mode
	gateClass string
	columns   []string
}

// separator stands between the statements of a template: their bodies have semicolons of their own.
const separator = "-- next statement\n"

func (d enforceData) render(name string) ([]string, error) {
	t, err := template.ParseFS(files, path.Join("sql", d.dialect.name, "enforce", "*.sql"))
	if err != nil {
		return nil, err
	}
	var text strings.Builder
	if err := t.ExecuteTemplate(&text, name+".sql", d); err != nil {
		return nil, err
	}
	var statements []string
	for _, statement := range strings.Split(text.String(), separator) {
		if statement = strings.TrimSpace(statement); statement != "" {
			statements = append(statements, statement)
		}
	}
	return statements, nil
}

// Table is the table, Trigger the beginning of the names of its triggers, and Function that of its function.
func (d enforceData) Table() string { return d.dialect.quotePath(d.schema.path()) }

// Literal is the table's name as a text.
func (d enforceData) Literal() string { return d.dialect.literal(d.schema.Name) }

func (d enforceData) own(suffix string) string {
	parts := d.schema.path()
	return "fencerow_" + parts[len(parts)-1] + suffix
}

// Trigger is the name of a trigger. Those of MySQL and SQLite are in the schema of the table.
func (d enforceData) Trigger(suffix string) string {
	if parts := d.schema.path(); len(parts) == 2 && d.dialect.name != "postgres" {
		return d.dialect.quotePath([]string{parts[0], d.own(suffix)})
	}
	return d.dialect.quote(d.own(suffix))
}

// Function is the name of the function of the triggers.
func (d enforceData) Function() string {
	parts := d.schema.path()
	return d.dialect.quotePath(append(parts[:len(parts)-1:len(parts)-1], d.own("_check")))
}

// Bare is the table's name without its schema, for the body of a trigger of SQLite, where it must be so.
func (d enforceData) Bare() string {
	parts := d.schema.path()
	return d.dialect.quote(parts[len(parts)-1])
}

// Column returns a column of OLD or NEW.
func (d enforceData) column(row, name string) string { return row + "." + d.dialect.quote(name) }

// Token, Step and Grant are the fence's columns in OLD or NEW. A table without steps has the step 0.
func (d enforceData) Token(row string) string { return d.column(row, d.schema.Token) }
func (d enforceData) Step(row string) string {
	if d.schema.Step == "" {
		return "0"
	}
	return d.column(row, d.schema.Step)
}

// Resource is the name of the resource that protects a row, as Key.resource writes it.
func (d enforceData) Resource(row string) string {
	parts := []string{d.dialect.literal(d.schema.Class)}
	for _, name := range d.schema.Key {
		text := d.text(d.column(row, name))
		if len(d.schema.Key) > 1 {
			text = "replace(replace(" + text + ", '%', '%25'), '/', '%2F')"
		}
		parts = append(parts, text)
	}
	if d.dialect.name == "mysql" {
		return "CONCAT_WS('/', " + strings.Join(parts, ", ") + ")"
	}
	return strings.Join(parts, " || '/' || ")
}

func (d enforceData) text(expression string) string {
	if d.dialect.name == "mysql" {
		return "CAST(" + expression + " AS CHAR)"
	}
	return "CAST(" + expression + " AS text)"
}

// SameKey compares the key of a row of the table with that of NEW.
func (d enforceData) SameKey() string {
	parts := make([]string, len(d.schema.Key))
	for i, name := range d.schema.Key {
		parts[i] = d.dialect.quote(name) + " = " + d.column("NEW", name)
	}
	return strings.Join(parts, " AND ")
}

// TokenColumn and StepColumn are the columns of the table itself.
func (d enforceData) TokenColumn() string { return d.dialect.quote(d.schema.Token) }
func (d enforceData) StepColumn() string {
	if d.schema.Step == "" {
		return "0"
	}
	return d.dialect.quote(d.schema.Step)
}

// Unchanged compares all columns of OLD and NEW.
func (d enforceData) Unchanged() string {
	same := " IS "
	if d.dialect.name == "mysql" {
		same = " <=> "
	}
	parts := make([]string, len(d.columns))
	for i, name := range d.columns {
		parts[i] = d.column("NEW", name) + same + d.column("OLD", name)
	}
	return strings.Join(parts, "\n          AND ")
}

// LogOnly is the mode, and GateClass the class as a text.
func (d enforceData) LogOnly() bool     { return d.mode == LogOnly }
func (d enforceData) GateClass() string { return d.dialect.literal(d.gateClass) }

// literal writes a text for a statement that takes no arguments.
func (d Dialect) literal(text string) string {
	if d.insertID { // MySQL reads a backslash as the beginning of an escape
		text = strings.ReplaceAll(text, `\`, `\\`)
	}
	return "'" + strings.ReplaceAll(text, "'", "''") + "'"
}

// ErrNotKept means that a trigger has refused to delete rows whose mark was not kept before. Use [Table.Delete].
var ErrNotKept = fmt.Errorf("%w: sqlfence: a row is deleted only after its mark was kept", fencerow.ErrUnfenced)

var triggerForm = regexp.MustCompile(`fencerow: (unfenced|stale|delete|truncate) (?:write|of) (?:to )?([^:]*)(?:: token (\d+) is below (\d+))?`)

// Refusal translates an error with which a trigger of an [Enforcement] has refused a statement: it returns an error that is
// [fencerow.ErrStale], [fencerow.ErrUnfenced] or [ErrNotKept] and wraps err. Any other error is returned as it is. The
// fences of this package do so themselves; it is for statements that a function of yours sends.
func Refusal(err error) error {
	if err == nil || fencerow.VerdictOf(err) != fencerow.Failed {
		return err
	}
	m := triggerForm.FindStringSubmatch(err.Error())
	if m == nil {
		return err
	}
	switch m[1] {
	case "stale":
		presented, presentedErr := strconv.ParseInt(m[3], 10, 64)
		stored, storedErr := strconv.ParseInt(m[4], 10, 64)
		if errors.Join(presentedErr, storedErr) == nil {
			return fmt.Errorf("%w: %w", &fencerow.StaleError{Resource: fencerow.Resource(m[2]), Presented: presented, Stored: stored}, err)
		}
		return fmt.Errorf("%w: %w", fencerow.ErrStale, err)
	case "delete":
		return fmt.Errorf("%w: %w", ErrNotKept, err)
	}
	return fmt.Errorf("%w: %w", fencerow.ErrUnfenced, err)
}
