-- {schema} the database, or NULL for the connection's own, and {table}. What the relation is; no row if there is none.
SELECT CASE WHEN table_type = 'VIEW' THEN 'view'
            WHEN engine = 'InnoDB' THEN 'table'
            ELSE CONCAT(COALESCE(engine, 'system'), ' table') END
  FROM information_schema.tables
 WHERE table_schema = COALESCE(?, DATABASE())
   AND table_name = ?;
