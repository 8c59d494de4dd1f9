-- ? resource, ? the number that later grants must exceed
INSERT INTO fencerow_lock (resource, number, floor, grant_id, holder, expires)
VALUES (?, 0, ?, '', '', 0)
ON DUPLICATE KEY UPDATE
    floor = GREATEST(floor, VALUES(floor));
