-- $1 the quoted name, resolved by the search path as a statement would. What the relation is; no row if there is none.
SELECT CASE relkind WHEN 'r' THEN 'table'
                    WHEN 'p' THEN 'table' -- partitioned
                    WHEN 'v' THEN 'view'
                    WHEN 'm' THEN 'materialized view'
                    WHEN 'f' THEN 'foreign table'
                    ELSE 'relation of another kind' END
  FROM pg_class
 WHERE oid = to_regclass($1);
