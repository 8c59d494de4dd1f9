-- Columns and their types.
SELECT column_name, column_type
  FROM information_schema.columns
 WHERE table_schema = COALESCE(?, DATABASE())
   AND table_name = ?;
