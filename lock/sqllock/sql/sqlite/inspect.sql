-- ?1 resource, ?2 now, ?3 epoch
-- Returns the number of the running lease, or the highest granted or seeded, and the time that is left.
SELECT CASE WHEN epoch = ?3 AND expires > ?2 THEN number ELSE max(number, floor) END,
       grant_id, holder, retired, CASE WHEN epoch = ?3 THEN max(expires - ?2, 0) ELSE 0 END
  FROM fencerow_lock
 WHERE resource = ?1;
