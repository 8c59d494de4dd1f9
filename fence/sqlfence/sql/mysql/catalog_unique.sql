-- The columns of each index that keeps a key unique; NULL for an expression, and for a part of a column.
SELECT index_name, CASE WHEN sub_part IS NULL THEN column_name END
  FROM information_schema.statistics
 WHERE table_schema = COALESCE(?, DATABASE())
   AND table_name = ?
   AND non_unique = 0
 ORDER BY index_name, seq_in_index;
