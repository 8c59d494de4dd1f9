package sqlfence

import (
	"context"

	"github.com/fencerow/fencerow/sqlconn"
)

// describePostgres reads the catalog by the search path of the connection, as a statement would.
func describePostgres(ctx context.Context, d Dialect, db sqlconn.Querier, name []string) (catalog, error) {
	table := d.quotePath(name)
	c := catalog{columns: map[string]string{}}
	if err := one(ctx, db, d.query("catalog_kind"), []any{table}, &c.kind); err != nil || c.kind == "" {
		return c, err
	}
	var column, declared string
	err := eachRow(ctx, db, d.query("catalog_columns"), []any{table}, []any{&column, &declared}, func() {
		c.columns[column] = declared
	})
	if err != nil {
		return c, err
	}
	return c, c.readUnique(ctx, db, d.query("catalog_unique"), table)
}
