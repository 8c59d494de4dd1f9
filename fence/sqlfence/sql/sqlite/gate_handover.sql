UPDATE fencerow_gate
   SET source = {to}, updated_at = strftime('%Y-%m-%dT%H:%M:%fZ', 'now')
 WHERE resource = {resource}
   AND source = {from};
