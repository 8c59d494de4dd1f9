-- ? the resources, then pairs of resource and grant id in place of the two lists
-- Returns the grant ids that are current, after a renewal that has not found all.
SELECT grant_id
  FROM fencerow_lock
 WHERE expires > TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))
   AND resource IN (/* resources */)
   AND (resource, grant_id) IN (/* grants */);
