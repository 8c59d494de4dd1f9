package sqlfence

import (
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"

	"github.com/fencerow/fencerow"
)

// Number, Step and Grant are the columns of a fence in Go, for code that is generated from your own SQL: a generator that gives these types
// to the columns makes functions that cannot be called without a stamp. A zero value is refused by the driver with [fencerow.ErrNoToken].
// They are read from the database too; what was read is no stamp, and is refused as a parameter.
type (
	// Number is the column of the number, a 64-bit integer.
	Number struct{ column[int64] }
	// Step is the column of the step, a 64-bit integer.
	Step struct{ column[int64] }
	// Grant is the column of the grant id, a text.
	Grant struct{ column[string] }
)

// NumberOf returns the number that a stamp writes.
func NumberOf(stamp fencerow.Stamp) Number { return Number{of(stamp, stamp.Token().Number())} }

// StepOf returns the step that a stamp writes.
func StepOf(stamp fencerow.Stamp) Step { return Step{of(stamp, stamp.Step())} }

// GrantOf returns the grant id that a stamp writes.
func GrantOf(stamp fencerow.Stamp) Grant { return Grant{of(stamp, stamp.Token().GrantID())} }

type column[T any] struct {
	value   T
	granted bool // else it is zero, or was read
}

func of[T any](stamp fencerow.Stamp, value T) column[T] {
	return column[T]{value: value, granted: stamp.Check(stamp.Token().Resource()) == nil}
}

var (
	_ driver.Valuer = Number{}
	_ sql.Scanner   = (*Number)(nil)
)

// Value implements driver.Valuer.
func (c column[T]) Value() (driver.Value, error) {
	if !c.granted {
		return nil, fmt.Errorf("%w: a column of the fence takes what NumberOf, StepOf and GrantOf make of a stamp", fencerow.ErrNoToken)
	}
	return c.value, nil
}

// Scan implements sql.Scanner. NULL is [fencerow.ErrUnfenced].
func (c *column[T]) Scan(from any) error {
	var value sql.Null[T]
	if err := value.Scan(from); err != nil {
		return err
	}
	if !value.Valid {
		return fmt.Errorf("%w: a column of the fence is NULL", fencerow.ErrUnfenced)
	}
	*c = column[T]{value: value.V}
	return nil
}

// Stored returns the value, for people and tests.
func (c column[T]) Stored() T { return c.value }

var errJudge = errors.New("sqlfence: Judge is for statements that affect one row of a unique key")
