package sqlfence

import (
	"context"
	"strings"

	"github.com/fencerow/fencerow/sqlconn"
)

// describeMySQL reads the catalog. The name may begin with a database.
func describeMySQL(ctx context.Context, d Dialect, db sqlconn.Querier, name []string) (catalog, error) {
	var schema any
	if len(name) == 2 {
		schema = name[0]
	}
	args := []any{schema, name[len(name)-1]}
	c := catalog{columns: map[string]string{}}
	if err := one(ctx, db, d.query("catalog_kind"), args, &c.kind); err != nil || c.kind == "" {
		return c, err
	}
	var column, declared string
	err := eachRow(ctx, db, d.query("catalog_columns"), args, []any{&column, &declared}, func() {
		// "bigint(20) unsigned" is a bigint with a width that has no meaning.
		c.columns[column], _, _ = strings.Cut(strings.ToLower(declared), "(")
		c.columns[column], _, _ = strings.Cut(c.columns[column], " ")
	})
	if err != nil {
		return c, err
	}
	return c, c.readUnique(ctx, db, d.query("catalog_unique"), args...)
}
