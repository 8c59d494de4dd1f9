-- $1 the quoted name. The columns of each index that keeps a key unique at every moment and for every row; NULL for an
-- expression.
SELECT i.indexrelid::text, a.attname
  FROM pg_index i
 CROSS JOIN LATERAL unnest(i.indkey::int2[]) WITH ORDINALITY AS k (attnum, position)
  LEFT JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.attnum AND k.attnum > 0
 WHERE i.indrelid = to_regclass($1)
   AND i.indisunique
   AND i.indisvalid
   AND i.indimmediate
   AND i.indpred IS NULL
   AND k.position <= i.indnkeyatts
 ORDER BY i.indexrelid, k.position;
