package sqlfence

import (
	"context"
	"database/sql"
	"embed"
	"path"
	"strconv"
	"strings"
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
	// describe reads a table's columns and unique keys from the catalog.
	describe func(ctx context.Context, d Dialect, db *sql.DB, name []string) (catalog, error)
}

// The dialects.
var (
	// Postgres is for PostgreSQL 11 and later.
	Postgres = Dialect{name: "postgres", numbered: true, quotes: `"`, lock: " FOR NO KEY UPDATE", describe: describePostgres}
	// SQLite is for SQLite 3.35 and later. Open the database with _txlock=immediate and a busy timeout. Names are written in
	// backquotes, because SQLite takes a name in double quotes for a string where there is no such column.
	SQLite = Dialect{name: "sqlite", quotes: "`", describe: describeSQLite}
)

func (d Dialect) statement(name string) string {
	text, err := files.ReadFile(path.Join("sql", d.name, name+".sql"))
	if err != nil {
		return "" // the zero Dialect, which Open functions refuse
	}
	return string(text)
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
