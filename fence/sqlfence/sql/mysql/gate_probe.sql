SELECT resource, source, fence_token, fence_grant, fence_step, updated_at FROM fencerow_gate LIMIT 0;
