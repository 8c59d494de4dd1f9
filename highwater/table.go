package highwater

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/fencerow/fencerow"
	"github.com/fencerow/fencerow/internal/sqlerr"
)

//go:embed sql
var files embed.FS

// Dialect is what differs between databases.
type Dialect struct{ name string }

// The dialects.
var (
	Postgres = Dialect{"postgres"} // PostgreSQL 11 and later
	MySQL    = Dialect{"mysql"}    // MariaDB 10.3 and MySQL 8.0 and later
	SQLite   = Dialect{"sqlite"}   // SQLite 3.38 and later
)

// Schema returns the statement that creates the table, for a schema that is kept elsewhere.
func (d Dialect) Schema() string { return d.statement("schema") }

func (d Dialect) statement(name string) string {
	text, err := files.ReadFile(path.Join("sql", d.name, name+".sql"))
	if err != nil {
		return "" // the zero Dialect; OpenTable refuses it
	}
	return string(text)
}

// Table is a high-water store in the table fencerow_high_water.
type Table struct {
	db      *sql.DB
	dialect Dialect
}

var _ fencerow.HighWater = (*Table)(nil)

// OpenTable returns the store in db, and creates its table if it is not there. The caller keeps and closes db.
func OpenTable(ctx context.Context, db *sql.DB, dialect Dialect) (*Table, error) {
	if dialect.name == "" {
		return nil, errors.New("highwater: no dialect was given, use highwater.Postgres, highwater.MySQL or highwater.SQLite")
	}
	t := &Table{db, dialect}
	if _, err := t.Highest(ctx, ""); err == nil {
		return t, nil
	}
	_, createErr := db.ExecContext(ctx, dialect.Schema()) // may fail only because another process creates it too
	if _, err := t.Highest(ctx, ""); err != nil {
		return nil, fmt.Errorf("highwater: open: the table fencerow_high_water is missing and cannot be created; create it with Dialect.Schema: %w",
			errors.Join(createErr, err))
	}
	return t, nil
}

// Raise implements [fencerow.HighWater] with one statement, if the mark is raised.
func (t *Table) Raise(ctx context.Context, source string, resource fencerow.Resource, number int64) (mark int64, raised bool, err error) {
	err = retry(ctx, func() error {
		mark, raised, err = t.raise(ctx, source, resource, number)
		return err
	})
	if err != nil {
		return 0, false, fmt.Errorf("highwater: raise the mark of %s: %w", resource, err)
	}
	return mark, raised, nil
}

func (t *Table) raise(ctx context.Context, source string, resource fencerow.Resource, number int64) (mark int64, raised bool, err error) {
	result, err := t.db.ExecContext(ctx, t.dialect.statement("raise"), source, string(resource), number)
	if err != nil {
		return 0, false, err
	}
	if raised, err = t.changed(result); err != nil || raised {
		return number, raised, err
	}
	mark, err = t.Mark(ctx, source, resource)
	return mark, false, err
}

// changed reports whether a row was inserted or updated. Of MySQL's clients some count the rows that were found, so there the
// statement says it with its insert id.
func (t *Table) changed(result sql.Result) (bool, error) {
	if t.dialect == MySQL {
		id, err := result.LastInsertId()
		return id != 0, err
	}
	n, err := result.RowsAffected()
	return n > 0, err
}

// Mark implements [fencerow.HighWater].
func (t *Table) Mark(ctx context.Context, source string, resource fencerow.Resource) (mark int64, err error) {
	err = t.db.QueryRowContext(ctx, t.dialect.statement("mark"), source, string(resource)).Scan(&mark)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("highwater: read the mark of %s: %w", resource, err)
	}
	return mark, nil
}

// Highest implements [fencerow.HighWater].
func (t *Table) Highest(ctx context.Context, source string) (mark int64, err error) {
	if err := t.db.QueryRowContext(ctx, t.dialect.statement("highest"), source).Scan(&mark); err != nil {
		return 0, fmt.Errorf("highwater: read the highest mark of %s: %w", strings.ToValidUTF8(source, "?"), err)
	}
	return mark, nil
}

// retryTimeout bounds how long a statement is tried again that had no effect because another one was in its way.
const retryTimeout = 5 * time.Second

func retry(ctx context.Context, fn func() error) error {
	limit := time.Now().Add(retryTimeout)
	for pause := 2 * time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		err := fn()
		if err == nil || sqlerr.Of(err) != sqlerr.Conflict || time.Now().After(limit) {
			return err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return err
		}
	}
}
