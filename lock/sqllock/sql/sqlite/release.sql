-- ?1 resource, ?2 grant id, ?3 now, ?4 epoch
-- Changes one row if the grant is current or was released and nobody followed, else none.
UPDATE fencerow_lock
   SET expires = 0
 WHERE resource = ?1
   AND grant_id = ?2
   AND epoch = ?4
   AND (expires > ?3 OR expires = 0);
