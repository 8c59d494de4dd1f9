// Package sqlconn is what fence/sqlfence needs of a way to reach a SQL database, so that the fences work through other libraries
// than database/sql. Applications do not need it: fence/sqlfence brings the implementation for database/sql, and fence/pgxfence,
// a module of its own, that for pgx.
package sqlconn

import (
	"context"
	"database/sql"
)

// Querier sends statements, each with its arguments, in the dialect's own placeholders.
type Querier interface {
	// Exec executes a statement.
	Exec(ctx context.Context, statement string, args ...any) (Result, error)
	// Query executes a query and calls row for each of its rows, with a function that reads the row into dest. The rows stand only
	// if Query returns nil. An error of row ends the query and is returned.
	Query(ctx context.Context, query string, args []any, row func(scan func(dest ...any) error) error) error
}

// Result is what a database says about a statement.
type Result struct {
	Rows     int64 // affected
	InsertID int64 // MySQL only: what the statement has given to LAST_INSERT_ID, 0 if nothing
}

// DB is a database. It is safe for concurrent use.
type DB interface {
	Querier
	// Begin begins a transaction on a connection of its own.
	Begin(ctx context.Context, isolation sql.IsolationLevel) (Tx, error)
}

// Tx is a transaction, used by one goroutine.
type Tx interface {
	Querier
	// Commit commits. An error that does not say that the database has rolled back leaves the outcome unknown. A transaction that
	// was ended before is sql.ErrTxDone.
	Commit(ctx context.Context) error
	// Rollback ends the transaction, if it has not ended, and gives the connection back.
	Rollback() error
}
