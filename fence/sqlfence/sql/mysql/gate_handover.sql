UPDATE fencerow_gate
   SET source = {to}, updated_at = CURRENT_TIMESTAMP(6)
 WHERE resource = {resource}
   AND source = {from};
