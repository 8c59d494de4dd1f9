-- Sets the mark, which was read under its lock before.
INSERT INTO fencerow_gate (resource, source, fence_token, fence_grant, fence_step)
VALUES ({resource}, {source}, {number}, {grant}, {step})
ON CONFLICT (resource) DO UPDATE
   SET source = excluded.source, fence_token = excluded.fence_token, fence_grant = excluded.fence_grant,
       fence_step = excluded.fence_step, updated_at = clock_timestamp();
