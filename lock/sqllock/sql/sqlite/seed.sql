-- ?1 resource, ?2 the number that later grants must exceed
INSERT INTO fencerow_lock AS l (resource, number, grant_id, holder, expires, epoch)
VALUES (?1, ?2, '', '', 0, '')
ON CONFLICT (resource) DO UPDATE
   SET number = max(l.number, excluded.number);
