package sqllock

import (
	"context"
	"database/sql"
	"embed"
	"path"
	"time"

	"github.com/fencerow/fencerow/driver"
	"github.com/fencerow/fencerow/internal/clock"
)

//go:embed sql
var files embed.FS

// Dialect is what differs between databases: the statements, one per file under sql/, and the clock that measures leases.
type Dialect struct {
	name      string
	guarantee driver.Guarantee
	answers   answers
	// check refuses a database that cannot keep the promises.
	check func(context.Context, *sql.DB) error
	// clock returns the arguments by which statements learn the time, after their own. It is nil where the server's own
	// clock measures the leases.
	clock func() []any
}

// SQLite is the dialect for SQLite 3.38 and later, with any driver.
var SQLite = Dialect{
	name:      "sqlite",
	guarantee: driver.SingleNode,
	answers:   rows{},
	check:     checkSQLite,
	clock: func() []any {
		now, epoch := clock.Host()
		return []any{now, epoch}
	},
}

// Postgres is the dialect for PostgreSQL 11 and later, with any driver. The server's clock measures the leases, and nothing is kept in
// the session, so that a connection pooler may stand in between.
var Postgres = Dialect{
	name:      "postgres",
	guarantee: driver.SingleNode,
	answers:   rows{},
	check:     checkPostgres,
}

// MySQL is the dialect for MariaDB 10.3 and later and for MySQL 8.0.19 and later, with any driver and whatever its clientFoundRows
// setting. The server's clock measures the leases, and nothing is kept in the session.
var MySQL = Dialect{
	name:      "mysql",
	guarantee: driver.SingleNode,
	answers:   insertIDs{},
	check:     checkMySQL,
}

// Schema returns the statements that create the tables, for a schema that is kept elsewhere.
func (d Dialect) Schema() string { return d.statement("schema") }

func (d Dialect) statement(name string) string {
	text, err := files.ReadFile(path.Join("sql", d.name, name+".sql"))
	if err != nil {
		return "" // the zero Dialect; Open refuses it
	}
	return string(text)
}

// statements are the texts of a dialect, read once.
type statements struct {
	identify, source, acquire, renew, renewed, release, seed, retire, inspect string
}

func (d Dialect) statements() statements {
	return statements{
		identify: d.statement("identify"),
		source:   d.statement("source"),
		acquire:  d.statement("acquire"),
		renew:    d.statement("renew"),
		renewed:  d.statement("renewed"), // MySQL only
		release:  d.statement("release"),
		seed:     d.statement("seed"),
		retire:   d.statement("retire"),
		inspect:  d.statement("inspect"),
	}
}

// ttlUnit is the resolution that all dialects share.
const ttlUnit = time.Millisecond
