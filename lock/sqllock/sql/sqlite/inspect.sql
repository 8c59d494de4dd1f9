-- ?1 resource, ?2 now, ?3 epoch
SELECT number, grant_id, holder, CASE WHEN epoch = ?3 THEN max(expires - ?2, 0) ELSE 0 END
  FROM fencerow_lock
 WHERE resource = ?1;
