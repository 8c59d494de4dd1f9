-- ?1 resource, ?2 grant id, ?3 holder, ?4 TTL in ns, ?5 now, ?6 epoch
-- Returns the number, or no row if another grant's lease runs or the resource is retired. A repeated request keeps its number.
INSERT INTO fencerow_lock AS l (resource, number, grant_id, holder, expires, epoch)
VALUES (?1, 1, ?2, ?3, ?5 + ?4, ?6)
ON CONFLICT (resource) DO UPDATE
   SET number   = CASE WHEN l.grant_id = excluded.grant_id AND l.expires > ?5 AND l.epoch = ?6 THEN l.number ELSE max(l.number, l.floor) + 1 END,
       grant_id = excluded.grant_id,
       holder   = excluded.holder,
       expires  = excluded.expires,
       epoch    = excluded.epoch
 WHERE l.retired = ''
   AND (l.grant_id = excluded.grant_id OR l.expires <= ?5 OR l.epoch <> ?6)
RETURNING number;
