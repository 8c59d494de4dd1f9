-- The first statement of a fenced transaction, or the last: locks the gate, compares and records the stamp. The settings are
-- for the triggers of the protected tables, and end with the transaction.
UPDATE fencerow_gate
   SET fence_step = {step}, updated_at = clock_timestamp()
 WHERE resource = {resource}
   AND source = {source}
   AND fence_token = {number}
   AND fence_grant = {grant}
   AND fence_step < {step}
RETURNING set_config('fencerow.resource', resource, true), set_config('fencerow.token', fence_token::text, true),
          set_config('fencerow.grant', fence_grant, true);
