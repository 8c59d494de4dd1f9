package sqlfence

import (
	"context"
	"database/sql"
	"strings"
)

// describePostgres reads the catalog by the search path of the connection, as a statement would.
func describePostgres(ctx context.Context, db *sql.DB, name []string) (catalog, error) {
	quoted := make([]string, len(name))
	for i := range name {
		quoted[i] = quote(name[i])
	}
	table := strings.Join(quoted, ".")
	c := catalog{columns: map[string]string{}}
	err := db.QueryRowContext(ctx, `
		SELECT CASE relkind WHEN 'r' THEN 'table' WHEN 'p' THEN 'table' WHEN 'v' THEN 'view'
		            WHEN 'm' THEN 'materialized view' WHEN 'f' THEN 'foreign table' ELSE 'relation of another kind' END
		  FROM pg_class WHERE oid = to_regclass($1)`, table).Scan(&c.kind)
	if err == sql.ErrNoRows {
		return c, nil
	}
	if err != nil {
		return c, err
	}
	rows, err := db.QueryContext(ctx, `
		SELECT attname, format_type(atttypid, NULL)
		  FROM pg_attribute
		 WHERE attrelid = to_regclass($1) AND attnum > 0 AND NOT attisdropped`, table)
	if err != nil {
		return c, err
	}
	defer rows.Close()
	for rows.Next() {
		var column, declared string
		if err := rows.Scan(&column, &declared); err != nil {
			return c, err
		}
		c.columns[column] = declared
	}
	if err := rows.Err(); err != nil {
		return c, err
	}
	return c, readUnique(ctx, db, &c, `
		SELECT i.indexrelid::text, a.attname
		  FROM pg_index i
		  CROSS JOIN LATERAL unnest(i.indkey::int2[]) WITH ORDINALITY AS k (attnum, position)
		  LEFT JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.attnum AND k.attnum > 0
		 WHERE i.indrelid = to_regclass($1)
		   AND i.indisunique AND i.indisvalid AND i.indimmediate AND i.indpred IS NULL
		   AND k.position <= i.indnkeyatts
		 ORDER BY i.indexrelid, k.position`, table)
}
