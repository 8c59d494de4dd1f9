-- Argument: the table. {schema} is the database it is in. What the object is; no row if there is none.
SELECT type
  FROM {schema}.sqlite_master
 WHERE name = ?;
