-- Arguments: the table, its database. Columns, their types, and their place in the primary key, 0 for none.
SELECT name, type, pk
  FROM pragma_table_info(?, ?)
 ORDER BY pk;
