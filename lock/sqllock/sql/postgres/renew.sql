-- $1 JSON array of [resource, grant id], $2 TTL in ns
-- Returns the grant ids that were renewed: those that are current and have not ended.
UPDATE fencerow_lock AS l
   SET expires = clock_timestamp() + $2::bigint / 1000 * interval '1 microsecond'
  FROM jsonb_array_elements($1::jsonb) AS g
 WHERE l.resource = g ->> 0
   AND l.grant_id = g ->> 1
   AND l.expires > clock_timestamp()
RETURNING l.grant_id;
