-- $1 resource
SELECT number, grant_id, holder, GREATEST(extract(epoch FROM expires - clock_timestamp()) * 1e9, 0)::bigint
  FROM fencerow_lock
 WHERE resource = $1;
