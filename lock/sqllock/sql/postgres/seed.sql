-- $1 resource, $2 the number that later grants must exceed
INSERT INTO fencerow_lock AS l (resource, number, grant_id, holder, expires)
VALUES ($1, $2, '', '', to_timestamp(0))
ON CONFLICT (resource) DO UPDATE
   SET number = GREATEST(l.number, excluded.number);
