-- $1 resource
-- Returns the number of the running lease, or the highest granted or seeded, and the time that is left.
SELECT CASE WHEN expires > now THEN number ELSE GREATEST(number, floor) END,
       grant_id, holder, retired, GREATEST(extract(epoch FROM expires - now) * 1e9, 0)::bigint
  FROM fencerow_lock, clock_timestamp() AS now
 WHERE resource = $1;
