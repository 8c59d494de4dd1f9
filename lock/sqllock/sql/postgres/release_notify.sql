-- $1 resource, $2 grant id
-- The same as release, and tells those who listen, when it is committed.
WITH released AS (
    UPDATE fencerow_lock
       SET expires = to_timestamp(0)
     WHERE resource = $1
       AND grant_id = $2
       AND (expires > clock_timestamp() OR expires = to_timestamp(0))
    RETURNING resource
)
SELECT pg_notify('fencerow_lock', resource) FROM released;
