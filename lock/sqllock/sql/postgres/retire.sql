-- $1 resource, $2 the successor's source
-- Returns a row with the number that the next grant would have had, or none if a lease runs or another successor was named.
INSERT INTO fencerow_lock AS l (resource, number, grant_id, holder, retired, expires)
VALUES ($1, 0, '', '', $2, to_timestamp(0))
ON CONFLICT (resource) DO UPDATE
   SET retired = excluded.retired
 WHERE l.expires <= clock_timestamp()
   AND l.retired IN ('', excluded.retired)
RETURNING GREATEST(number, floor) + 1;
