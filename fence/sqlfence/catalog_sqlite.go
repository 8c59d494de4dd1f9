package sqlfence

import (
	"context"
	"strings"

	"github.com/fencerow/fencerow/sqlconn"
)

// describeSQLite reads the catalog. The name may begin with an attached database.
func describeSQLite(ctx context.Context, d Dialect, db sqlconn.Querier, name []string) (catalog, error) {
	schema, table := "main", name[len(name)-1]
	if len(name) == 2 {
		schema = name[0]
	}
	c := catalog{columns: map[string]string{}}
	kind := strings.ReplaceAll(d.query("catalog_kind"), "{schema}", d.quote(schema))
	if err := one(ctx, db, kind, []any{table}, &c.kind); err != nil || c.kind == "" {
		return c, err
	}
	var primary []string
	var column, declared string
	var pk int
	err := eachRow(ctx, db, d.query("catalog_columns"), []any{table, schema}, []any{&column, &declared, &pk}, func() {
		if strings.Contains(strings.ToUpper(declared), "INT") { // what gives a column integer affinity
			declared = integerAffinity
		}
		c.columns[column] = declared
		if pk > 0 {
			primary = append(primary, column)
		}
	})
	if err != nil {
		return c, err
	}
	if len(primary) > 0 {
		c.unique = append(c.unique, primary)
	}
	return c, c.readUnique(ctx, db, d.query("catalog_unique"), table, schema, schema)
}
