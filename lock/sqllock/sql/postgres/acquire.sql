-- $1 resource, $2 grant id, $3 holder, $4 TTL in ns
-- Returns the number, or no row if another grant's lease runs or the resource is retired. A repeated request keeps its number. The clock is read after the
-- row's lock was waited for: now() would be the start of the transaction, and excluded is computed before.
INSERT INTO fencerow_lock AS l (resource, number, grant_id, holder, expires)
VALUES ($1, 1, $2, $3, clock_timestamp() + $4::bigint / 1000 * interval '1 microsecond')
ON CONFLICT (resource) DO UPDATE
   SET number   = CASE WHEN l.grant_id = excluded.grant_id AND l.expires > clock_timestamp() THEN l.number ELSE GREATEST(l.number, l.floor) + 1 END,
       grant_id = excluded.grant_id,
       holder   = excluded.holder,
       expires  = clock_timestamp() + $4::bigint / 1000 * interval '1 microsecond'
 WHERE l.retired = ''
   AND (l.grant_id = excluded.grant_id OR l.expires <= clock_timestamp())
RETURNING number;
