package sqlfence

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/fencerow/fencerow/sqlconn"
)

// catalog is what the database says about a table.
type catalog struct {
	kind    string            // "table", or what else it is
	columns map[string]string // declared type by name
	unique  [][]string        // the columns of each unique key
}

// check compares the schema with the table. The error names everything that is wrong.
func (c catalog) check(d Dialect, s Schema) error {
	if c.kind == "" {
		return fmt.Errorf("the table %s does not exist, or this user cannot see it", s.Name)
	}
	if c.kind != "table" {
		return fmt.Errorf("%s is a %s; a fence needs a table", s.Name, c.kind)
	}
	var errs []error
	for _, name := range s.Key {
		if _, ok := c.columns[name]; !ok {
			errs = append(errs, fmt.Errorf("the table %s has no key column %q", s.Name, name))
		}
	}
	for _, name := range s.fence() {
		declared, ok := c.columns[name]
		switch {
		case !ok:
			errs = append(errs, fmt.Errorf("the table %s has no column %q; add it: ALTER TABLE %s ADD COLUMN %s %s",
				s.Name, name, d.quotePath(s.path()), d.quote(name), d.definition(name == s.Grant)))
		case name == s.Grant && !isText(declared):
			errs = append(errs, fmt.Errorf("the column %s of %s is %q; a grant id needs text", name, s.Name, declared))
		case name != s.Grant && !isInt64(declared):
			errs = append(errs, fmt.Errorf("the column %s of %s is %q; a number needs a 64-bit integer, bigint or INTEGER",
				name, s.Name, declared))
		}
	}
	return errors.Join(errs...)
}

func (d Dialect) definition(grant bool) string {
	switch {
	case !grant:
		return "bigint NOT NULL DEFAULT 0"
	case d.insertID: // MySQL: compared byte for byte, and with a length
		return "varbinary(128) NOT NULL DEFAULT ''"
	}
	return "text NOT NULL DEFAULT ''"
}

// isUnique reports whether the key columns stand for one row at the most.
func (c catalog) isUnique(key []string) bool {
	for _, columns := range c.unique {
		if !slices.ContainsFunc(columns, func(name string) bool { return !slices.Contains(key, name) }) {
			return true
		}
	}
	return false
}

// isInt64 reports whether a column stores numbers of 64 bits and compares them as numbers.
func isInt64(declared string) bool {
	switch strings.ToLower(declared) {
	case "bigint", integerAffinity:
		return true
	}
	return false
}

// integerAffinity stands for every type name by which a column of SQLite stores and compares integers of 64 bits.
const integerAffinity = "integer affinity"

func isText(declared string) bool {
	declared = strings.ToLower(declared)
	return strings.HasPrefix(declared, "text") || strings.HasPrefix(declared, "character varying") || strings.HasPrefix(declared, "varchar") ||
		strings.HasPrefix(declared, "varbinary")
}

// readUnique adds the unique keys that a query lists as pairs of index and column. An expression has no column's name, so that
// no key matches it.
func (c *catalog) readUnique(ctx context.Context, db sqlconn.Querier, query string, args ...any) error {
	var index, last string
	var column sql.NullString
	return eachRow(ctx, db, query, args, []any{&index, &column}, func() {
		if index != last {
			c.unique = append(c.unique, nil)
			last = index
		}
		columns := &c.unique[len(c.unique)-1]
		*columns = append(*columns, column.String)
	})
}

// eachRow scans each row of a query into dest and calls fn.
func eachRow(ctx context.Context, db sqlconn.Querier, query string, args, dest []any, fn func()) error {
	return db.Query(ctx, query, args, func(scan func(...any) error) error {
		if err := scan(dest...); err != nil {
			return err
		}
		fn()
		return nil
	})
}

// one scans the first row of a query into dest, and leaves dest alone if there is none.
func one(ctx context.Context, db sqlconn.Querier, query string, args []any, dest ...any) error {
	return eachRow(ctx, db, query, args, dest, func() {})
}
