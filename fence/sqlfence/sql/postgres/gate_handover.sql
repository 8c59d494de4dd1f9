UPDATE fencerow_gate
   SET source = {to}, updated_at = clock_timestamp()
 WHERE resource = {resource}
   AND source = {from};
