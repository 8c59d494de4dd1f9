-- ? resource, ? grant id
-- The insert id of the statement is 1 if the grant is current or was released and nobody followed, else 0. The number of changed
-- rows would not tell: some clients count the rows that were found.
UPDATE fencerow_lock
   SET expires = 0 * LAST_INSERT_ID(1)
 WHERE resource = ?
   AND grant_id = ?
   AND (expires > TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) OR expires = 0);
