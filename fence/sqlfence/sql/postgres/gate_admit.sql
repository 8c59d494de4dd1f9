-- $1 resource, $2 source, $3 number, $4 grant id, $5 step
-- The first statement of a fenced transaction: locks the gate, compares and records the stamp.
UPDATE fencerow_gate
   SET fence_step = $5, updated_at = clock_timestamp()
 WHERE resource = $1
   AND source = $2
   AND fence_token = $3
   AND fence_grant = $4
   AND fence_step < $5;
