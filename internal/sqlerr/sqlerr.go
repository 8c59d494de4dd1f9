// Package sqlerr tells the kinds of database errors apart without importing a driver.
package sqlerr

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"strings"
)

// Kind is what an error says about the statement that failed.
type Kind int

const (
	// Definite: the database refused the statement; it had no effect.
	Definite Kind = iota
	// Conflict: the database could not serialize it just now; it had no effect and may be tried again.
	Conflict
	// Unknown: the connection or the context ended before the answer; the statement may have had its effect.
	Unknown
)

// Of returns the kind of err, which is not nil.
func Of(err error) Kind {
	if state, ok := sqlState(err); ok {
		return ofState(state)
	}
	if code, ok := sqliteCode(err); ok {
		return ofSQLite(code)
	}
	if number, state, ok := mysqlCode(err); ok {
		return ofMySQL(number, state)
	}
	var netErr net.Error
	var opErr *net.OpError
	switch {
	case errors.As(err, &opErr) && opErr.Op == "dial":
		return Definite // nothing was sent
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded),
		errors.Is(err, driver.ErrBadConn), errors.Is(err, sql.ErrConnDone),
		errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.As(err, &netErr):
		return Unknown
	case mentions(err, "database is locked", "SQLITE_BUSY", "database table is locked"):
		return Conflict
	case mentions(err, "unexpected EOF", "connection reset", "broken pipe", "conn closed", "bad connection", "invalid connection"):
		return Unknown
	}
	return Definite
}

// ReadOnly reports whether err says that the database, or this connection to it, accepts no writes.
func ReadOnly(err error) bool { return ReasonOf(err) == NotWritable }

// sqlState finds the SQLSTATE that pgx and lib/pq attach to their errors.
func sqlState(err error) (string, bool) {
	var e interface{ SQLState() string }
	if errors.As(err, &e) && len(e.SQLState()) == 5 {
		return e.SQLState(), true
	}
	return "", false
}

func ofState(state string) Kind {
	switch {
	case state == "40003", // statement completion unknown
		state[:2] == "08", // connection exception
		// The server ended the session. A statement has no effect then, but a COMMIT may have been the statement.
		state == "57P01", state == "57P02", state == "57P03", state == "25P03":
		return Unknown
	case state[:2] == "40", // serialization failure, deadlock, ...
		state == "55P03": // lock not available
		return Conflict
	}
	return Definite
}

// sqliteCode finds the result code that modernc.org/sqlite attaches to its errors.
func sqliteCode(err error) (int, bool) {
	var e interface{ Code() int }
	if errors.As(err, &e) {
		return e.Code(), true
	}
	return 0, false
}

func ofSQLite(code int) Kind {
	switch code & 0xff {
	case 5, 6: // SQLITE_BUSY, SQLITE_LOCKED
		return Conflict
	case 9, 10: // SQLITE_INTERRUPT, SQLITE_IOERR
		return Unknown
	}
	return Definite
}

func mentions(err error, texts ...string) bool {
	for _, text := range texts {
		if strings.Contains(err.Error(), text) {
			return true
		}
	}
	return false
}
