-- ? resource, ? grant id, ? holder, ? TTL in ns
-- The answer is the number, as the insert id of the statement, or 0 if another grant's lease runs or the resource is retired. A
-- repeated request keeps its number.
--
-- Assignments are made from left to right, so the number comes first, while the row is what it was. The time is that of the start
-- of the statement, also after a wait for the row: a lease then ends early, never before the holder's own deadline, which is
-- counted from before the request. It is the same wherever it is named; SYSDATE() is not.
INSERT INTO fencerow_lock (resource, number, grant_id, holder, expires)
VALUES (?, LAST_INSERT_ID(1), ?, ?, TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) + ? DIV 1000)
ON DUPLICATE KEY UPDATE
    number   = IF(retired <> '' OR (grant_id <> VALUES(grant_id) AND expires > TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))),
                  number + LAST_INSERT_ID(0),
                  LAST_INSERT_ID(IF(grant_id = VALUES(grant_id) AND expires > TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)),
                                    number,
                                    GREATEST(number, floor) + 1))),
    grant_id = IF(retired = '' AND expires <= TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)), VALUES(grant_id), grant_id),
    holder   = IF(retired = '' AND grant_id = VALUES(grant_id), VALUES(holder), holder),
    expires  = IF(retired = '' AND grant_id = VALUES(grant_id), VALUES(expires), expires);
