-- The same for transactions that run side by side: a claim waits for all of them.
SELECT source, fence_token, fence_step, fence_grant
  FROM fencerow_gate
 WHERE resource = {resource} FOR SHARE;
