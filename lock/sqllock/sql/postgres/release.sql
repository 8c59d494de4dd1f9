-- $1 resource, $2 grant id
-- Changes one row if the grant is current or was released and nobody followed, else none.
UPDATE fencerow_lock
   SET expires = to_timestamp(0)
 WHERE resource = $1
   AND grant_id = $2
   AND (expires > clock_timestamp() OR expires = to_timestamp(0));
