-- ? resource, ? the successor's source
-- The insert id of the statement is the number that the next grant would have had, or 0 if a lease runs or another successor
-- was named.
INSERT INTO fencerow_lock (resource, number, grant_id, holder, retired, expires)
VALUES (?, LAST_INSERT_ID(1) - 1, '', '', ?, 0)
ON DUPLICATE KEY UPDATE
    number  = number + 0 * LAST_INSERT_ID(IF(expires > TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))
                                                 OR retired NOT IN ('', VALUES(retired)),
                                             0,
                                             GREATEST(number, floor) + 1)),
    retired = IF(expires <= TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) AND retired = '', VALUES(retired), retired);
