-- What the gate stores, without waiting for anybody.
SELECT source, fence_token, fence_step, fence_grant
  FROM fencerow_gate
 WHERE resource = {resource};
