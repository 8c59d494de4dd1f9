-- ?1 resource, ?2 the number that later grants must exceed
INSERT INTO fencerow_lock AS l (resource, number, floor, grant_id, holder, expires, epoch)
VALUES (?1, 0, ?2, '', '', 0, '')
ON CONFLICT (resource) DO UPDATE
   SET floor = max(l.floor, excluded.floor);
