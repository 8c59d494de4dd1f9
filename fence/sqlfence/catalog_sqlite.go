package sqlfence

import (
	"context"
	"database/sql"
	"strings"
)

// describeSQLite reads the catalog through the table-valued pragma functions. The name may begin with an attached database.
func describeSQLite(ctx context.Context, db *sql.DB, name []string) (catalog, error) {
	schema, table := "main", name[len(name)-1]
	if len(name) == 2 {
		schema = name[0]
	}
	c := catalog{columns: map[string]string{}}
	err := db.QueryRowContext(ctx, "SELECT type FROM "+quote(schema)+".sqlite_master WHERE name = ?", table).Scan(&c.kind)
	if err == sql.ErrNoRows {
		return c, nil
	}
	if err != nil {
		return c, err
	}
	var primary []string
	rows, err := db.QueryContext(ctx, "SELECT name, type, pk FROM pragma_table_info(?, ?) ORDER BY pk", table, schema)
	if err != nil {
		return c, err
	}
	defer rows.Close()
	for rows.Next() {
		var column, declared string
		var pk int
		if err := rows.Scan(&column, &declared, &pk); err != nil {
			return c, err
		}
		// Every integer type name of SQLite stores and compares 64 bits.
		if strings.Contains(strings.ToUpper(declared), "INT") {
			declared = "integer(sqlite)"
		}
		c.columns[column] = declared
		if pk > 0 {
			primary = append(primary, column)
		}
	}
	if err := rows.Err(); err != nil {
		return c, err
	}
	if len(primary) > 0 {
		c.unique = append(c.unique, primary)
	}
	return c, readUnique(ctx, db, &c, `
		SELECT l.name, i.name
		  FROM pragma_index_list(?1, ?2) AS l, pragma_index_info(l.name, ?2) AS i
		 WHERE l."unique" = 1 AND l.partial = 0
		 ORDER BY l.name, i.seqno`, table, schema)
}

// readUnique adds the unique keys that a query lists as pairs of index and column, a NULL column being an expression.
func readUnique(ctx context.Context, db *sql.DB, c *catalog, query string, args ...any) error {
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	last := ""
	for rows.Next() {
		var index string
		var column sql.NullString
		if err := rows.Scan(&index, &column); err != nil {
			return err
		}
		if index != last {
			c.unique = append(c.unique, nil)
			last = index
		}
		columns := &c.unique[len(c.unique)-1]
		if !column.Valid {
			column.String = "" // an expression: no key column has this name
		}
		*columns = append(*columns, column.String)
	}
	return rows.Err()
}
