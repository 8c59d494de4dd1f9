-- The first statement of a fenced transaction, or the last: locks the gate, compares and records the stamp.
UPDATE fencerow_gate
   SET fence_step = {step}, updated_at = clock_timestamp()
 WHERE resource = {resource}
   AND source = {source}
   AND fence_token = {number}
   AND fence_grant = {grant}
   AND fence_step < {step};
