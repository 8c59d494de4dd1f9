-- What the gate stores, read under its lock.
SELECT source, fence_token, fence_step, fence_grant
  FROM fencerow_gate
 WHERE resource = {resource} FOR UPDATE;
