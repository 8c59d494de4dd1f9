package sqlfence

import (
	"errors"
	"fmt"
	"strings"
)

// Clause is a part of an update that the caller writes in SQL.
type Clause struct {
	kind clauseKind
	text string
	args []any
	rows int64
}

type clauseKind int

const (
	setClause clauseKind = iota + 1
	whereClause
	expectClause
)

// Set is what an update changes: Set("balance = balance - ?, updated_by = ?", 100, worker). Placeholders are question
// marks in every dialect; a question mark of the SQL itself outside of quotes is written twice. The fence's own columns are
// set by the fence.
func Set(text string, args ...any) Clause { return Clause{kind: setClause, text: text, args: args} }

// Where is your own condition beside the fence's: Where("balance >= ?", 100). If the fence admits the write and the
// condition does not hold, the answer is [fencerow.ErrRejected].
func Where(text string, args ...any) Clause { return Clause{kind: whereClause, text: text, args: args} }

// Expect says how many rows the key stands for, for a key that is not unique. If the update would affect another number,
// or the fence of any row refuses, nothing is written. Default: 1.
func Expect(rows int64) Clause { return Clause{kind: expectClause, rows: rows} }

// changes are the clauses of one update, sorted by kind.
type changes struct {
	set, where []Clause
	expect     int64 // 0 if not given
}

func sortClauses(d Dialect, clauses []Clause) (changes, error) {
	var c changes
	for _, clause := range clauses {
		switch clause.kind {
		case setClause:
			c.set = append(c.set, clause)
		case whereClause:
			c.where = append(c.where, clause)
		case expectClause:
			if clause.rows < 1 || c.expect != 0 {
				return c, fmt.Errorf("sqlfence: Expect(%d): give one expected number of rows, 1 or more", clause.rows)
			}
			c.expect = clause.rows
		default:
			return c, fmt.Errorf("sqlfence: a zero Clause; use Set, Where or Expect")
		}
	}
	for _, clause := range append(c.set, c.where...) {
		if strings.TrimSpace(clause.text) == "" {
			return c, fmt.Errorf("sqlfence: an empty Set or Where")
		}
		if err := d.checkPart(clause.text); err != nil {
			return c, fmt.Errorf("sqlfence: %w", err)
		}
		if n := countPlaceholders(clause.text); n != len(clause.args) {
			return c, fmt.Errorf("sqlfence: %q has %d placeholders and %d arguments", clause.text, n, len(clause.args))
		}
	}
	return c, nil
}

// needSet refuses an update that changes nothing.
func (c changes) needSet() error {
	if len(c.set) == 0 {
		return errors.New("sqlfence: an update needs Set; to raise the mark only, use Claim")
	}
	return nil
}
