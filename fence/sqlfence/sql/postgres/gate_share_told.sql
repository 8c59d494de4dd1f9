-- The same for transactions that run side by side: a claim waits for all of them. The settings are for the triggers of the protected
-- tables, and end with the transaction, which is rolled back if the stamp is refused.
SELECT source, fence_token, fence_step, fence_grant
  FROM fencerow_gate
 WHERE resource = {resource}
   AND set_config('fencerow.resource', resource, true) IS NOT NULL
   AND set_config('fencerow.token', fence_token::text, true) IS NOT NULL
   AND set_config('fencerow.grant', fence_grant, true) IS NOT NULL
   FOR SHARE;
