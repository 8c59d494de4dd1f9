-- $1 the quoted name. Columns and their types.
SELECT attname, format_type(atttypid, NULL)
  FROM pg_attribute
 WHERE attrelid = to_regclass($1)
   AND attnum > 0
   AND NOT attisdropped;
