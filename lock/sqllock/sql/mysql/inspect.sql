-- ? resource
-- Returns the number of the running lease, or the highest granted or seeded, and the nanoseconds that are left.
SELECT CASE WHEN expires > TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) THEN number ELSE GREATEST(number, floor) END,
       grant_id, holder, retired,
       1000 * GREATEST(expires - TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)), 0)
  FROM fencerow_lock
 WHERE resource = ?;
