-- $1 resource, $2 source, $3 number, $4 grant id
-- Raises the mark if the number is new, and always returns what is stored then, so that the answer is exact.
INSERT INTO fencerow_gate AS g (resource, source, fence_token, fence_grant, fence_step)
VALUES ($1, $2, $3, $4, 0)
ON CONFLICT (resource) DO UPDATE
   SET fence_step  = CASE WHEN g.source = excluded.source AND g.fence_token < excluded.fence_token THEN 0 ELSE g.fence_step END,
       fence_grant = CASE WHEN g.source = excluded.source AND g.fence_token < excluded.fence_token THEN excluded.fence_grant ELSE g.fence_grant END,
       updated_at  = CASE WHEN g.source = excluded.source AND g.fence_token < excluded.fence_token THEN clock_timestamp() ELSE g.updated_at END,
       fence_token = CASE WHEN g.source = excluded.source THEN GREATEST(g.fence_token, excluded.fence_token) ELSE g.fence_token END
RETURNING source, fence_token, fence_step, fence_grant;
