package sqlfence

import (
	"context"
	"database/sql"
	"embed"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"text/template"

	"github.com/fencerow/fencerow/sqlconn"
)

//go:embed sql
var files embed.FS

// Dialect is what differs between databases. Its statements are the files under sql/.
type Dialect struct {
	name string
	// numbered placeholders are $1, $2; the others are question marks.
	numbered bool
	// quotes are what names are written in.
	quotes string
	// lock is the suffix of a SELECT that keeps others from changing the row until the transaction ends.
	lock string
	// insertID says that a statement's answer travels as its LAST_INSERT_ID: there is no RETURNING.
	insertID bool
	// sessions says that the database can tell who blocks whom.
	sessions bool
	// describe reads a table's columns and unique keys from the catalog.
	describe func(ctx context.Context, d Dialect, db sqlconn.Querier, name []string) (catalog, error)
}

// The dialects.
var (
	// Postgres is for PostgreSQL 11 and later.
	Postgres = Dialect{name: "postgres", numbered: true, quotes: `"`, lock: " FOR NO KEY UPDATE", sessions: true, describe: describePostgres}
	// MySQL is for MySQL 8.0 and MariaDB 10.5 and later, with tables in InnoDB. Whether the connection counts the rows that were
	// found or those that were changed does not matter.
	MySQL = Dialect{name: "mysql", quotes: "`", lock: " FOR UPDATE", insertID: true, sessions: true, describe: describeMySQL}
	// SQLite is for SQLite 3.35 and later. Open the database with _txlock=immediate and a busy timeout. Names are written in
	// backquotes, because SQLite takes a name in double quotes for a string where there is no such column.
	SQLite = Dialect{name: "sqlite", quotes: "`", describe: describeSQLite}
)

// Name returns "postgres", "mysql" or "sqlite", and nothing for the zero Dialect.
func (d Dialect) Name() string { return d.name }

// statement returns the text of a file, or nothing for the zero Dialect, which the Open functions refuse.
func (d Dialect) statement(name string) string {
	text, err := files.ReadFile(path.Join("sql", d.name, name+".sql"))
	if err != nil {
		return ""
	}
	return string(text)
}

// query returns the text of a file without its comments and its semicolon, behind which some drivers look for another statement.
func (d Dialect) query(name string) string { return withoutComments(d.statement(name)) }

// rowTemplates are the templates under sql/row, with those in their place that a dialect has of its own.
var rowTemplates = map[string]*template.Template{
	"postgres": parseRowTemplates("postgres"), "mysql": parseRowTemplates("mysql"), "sqlite": parseRowTemplates("sqlite"),
}

func parseRowTemplates(dialect string) *template.Template {
	t := template.Must(template.ParseFS(files, "sql/row/*.sql"))
	own := path.Join("sql", dialect, "row", "*.sql")
	if found, _ := fs.Glob(files, own); len(found) > 0 {
		t = template.Must(t.ParseFS(files, own))
	}
	return t
}

// rowIsolation is that of the transactions which look for the reason of a refusal: what they read under a lock is what is stored.
// SQLite has one level.
func (d Dialect) rowIsolation() sql.IsolationLevel {
	if d.sessions {
		return sql.LevelReadCommitted
	}
	return sql.LevelDefault
}

// placeholder returns the text for the n-th argument, counted from 1.
func (d Dialect) placeholder(n int) string {
	if d.numbered {
		return "$" + strconv.Itoa(n)
	}
	return "?"
}

// quote returns an identifier as SQL text. It is taken literally: case and all.
func (d Dialect) quote(name string) string {
	return d.quotes + strings.ReplaceAll(name, d.quotes, d.quotes+d.quotes) + d.quotes
}

// quotePath returns a name of several parts as SQL text.
func (d Dialect) quotePath(path []string) string {
	parts := make([]string, len(path))
	for i, part := range path {
		parts[i] = d.quote(part)
	}
	return strings.Join(parts, ".")
}
