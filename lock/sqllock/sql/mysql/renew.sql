-- ? TTL in ns, then the resources, then pairs of resource and grant id in place of the two lists
UPDATE fencerow_lock
   SET expires = TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) + ? DIV 1000
 WHERE expires > TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))
   AND resource IN (/* resources */)
   AND (resource, grant_id) IN (/* grants */);
