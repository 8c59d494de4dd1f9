-- ?1 resource, ?2 the successor's source, ?3 now, ?4 epoch
-- Returns a row with the number that the next grant would have had, or none if a lease runs or another successor was named.
INSERT INTO fencerow_lock AS l (resource, number, grant_id, holder, retired, expires, epoch)
VALUES (?1, 0, '', '', ?2, 0, '')
ON CONFLICT (resource) DO UPDATE
   SET retired = excluded.retired
 WHERE (l.expires <= ?3 OR l.epoch <> ?4)
   AND l.retired IN ('', excluded.retired)
RETURNING max(number, floor) + 1;
