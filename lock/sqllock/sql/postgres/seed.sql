-- $1 resource, $2 the number that later grants must exceed
INSERT INTO fencerow_lock AS l (resource, number, floor, grant_id, holder, expires)
VALUES ($1, 0, $2, '', '', to_timestamp(0))
ON CONFLICT (resource) DO UPDATE
   SET floor = GREATEST(l.floor, excluded.floor);
