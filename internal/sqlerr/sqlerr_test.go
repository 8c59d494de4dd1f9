package sqlerr

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"testing"
)

type state string

func (s state) Error() string    { return "server says " + string(s) }
func (s state) SQLState() string { return string(s) }

type code int

func (c code) Error() string { return fmt.Sprintf("sqlite says %d", int(c)) }
func (c code) Code() int     { return int(c) }

func TestKinds(t *testing.T) {
	dial := &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	read := &net.OpError{Op: "read", Err: syscall.ECONNRESET}
	for name, c := range map[string]struct {
		err  error
		want Kind
	}{
		"serialization failure":  {state("40001"), Conflict},
		"deadlock":               {state("40P01"), Conflict},
		"lock timeout":           {state("55P03"), Conflict},
		"completion unknown":     {state("40003"), Unknown},
		"connection lost":        {state("08006"), Unknown},
		"terminated by admin":    {state("57P01"), Unknown},
		"idle in transaction":    {state("25P03"), Unknown},
		"syntax error":           {state("42601"), Definite},
		"unique violation":       {state("23505"), Definite},
		"read-only transaction":  {state("25006"), Definite},
		"SQLITE_BUSY":            {code(5), Conflict},
		"SQLITE_BUSY_SNAPSHOT":   {code(517), Conflict},
		"SQLITE_LOCKED":          {code(6), Conflict},
		"SQLITE_IOERR":           {code(10), Unknown},
		"SQLITE_IOERR_FSYNC":     {code(1034), Unknown},
		"SQLITE_INTERRUPT":       {code(9), Unknown},
		"SQLITE_CONSTRAINT":      {code(19), Definite},
		"SQLITE_READONLY":        {code(8), Definite},
		"deadline":               {context.DeadlineExceeded, Unknown},
		"cancelled":              {context.Canceled, Unknown},
		"bad connection":         {driver.ErrBadConn, Unknown},
		"connection done":        {sql.ErrConnDone, Unknown},
		"end of file":            {io.ErrUnexpectedEOF, Unknown},
		"connection refused":     {dial, Definite},
		"connection reset":       {read, Unknown},
		"text of another driver": {errors.New("database is locked"), Conflict},
		"another text":           {errors.New("write: broken pipe"), Unknown},
		"closed database":        {errors.New("sql: database is closed"), Definite},
		"anything":               {errors.New("no such table: t"), Definite},
	} {
		t.Run(name, func(t *testing.T) {
			for _, err := range []error{c.err, fmt.Errorf("wrapped: %w", c.err)} {
				if got := Of(err); got != c.want {
					t.Errorf("Of(%v) = %d, want %d", err, got, c.want)
				}
			}
		})
	}
}

func TestReadOnly(t *testing.T) {
	for err, want := range map[error]bool{
		state("25006"): true, state("42501"): false, code(8): true, code(1032): true, code(5): false,
		errors.New("attempt to write a readonly database"): true, errors.New("disk full"): false,
	} {
		if got := ReadOnly(fmt.Errorf("wrapped: %w", err)); got != want {
			t.Errorf("ReadOnly(%v) = %v", err, got)
		}
	}
}
