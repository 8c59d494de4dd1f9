-- ?1 JSON array of [resource, grant id], ?2 TTL in ns, ?3 now, ?4 epoch
-- Returns the grant ids that were renewed: those that are current and have not ended.
UPDATE fencerow_lock AS l
   SET expires = ?3 + ?2
  FROM json_each(?1) AS g
 WHERE l.resource = json_extract(g.value, '$[0]')
   AND l.grant_id = json_extract(g.value, '$[1]')
   AND l.expires > ?3
   AND l.epoch = ?4
RETURNING grant_id;
