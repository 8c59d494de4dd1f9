-- Arguments: the table, its database twice. The columns of each index that keeps a key unique for every row; NULL for an expression.
SELECT l.name, i.name
  FROM pragma_index_list(?, ?) AS l, pragma_index_info(l.name, ?) AS i
 WHERE l."unique" = 1
   AND l.partial = 0
 ORDER BY l.name, i.seqno;
