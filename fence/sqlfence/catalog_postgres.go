package sqlfence

import (
	"context"
	"database/sql"
	"errors"
)

// describePostgres reads the catalog by the search path of the connection, as a statement would.
func describePostgres(ctx context.Context, d Dialect, db *sql.DB, name []string) (catalog, error) {
	table := d.quotePath(name)
	c := catalog{columns: map[string]string{}}
	err := db.QueryRowContext(ctx, d.statement("catalog_kind"), table).Scan(&c.kind)
	if errors.Is(err, sql.ErrNoRows) {
		return c, nil
	}
	if err != nil {
		return c, err
	}
	var column, declared string
	err = eachRow(ctx, db, d.statement("catalog_columns"), []any{table}, []any{&column, &declared}, func() {
		c.columns[column] = declared
	})
	if err != nil {
		return c, err
	}
	return c, c.readUnique(ctx, db, d.statement("catalog_unique"), table)
}
