-- $1 resource, $2 the source that it follows, $3 the source that it is to follow
UPDATE fencerow_gate
   SET source = $3, updated_at = clock_timestamp()
 WHERE resource = $1
   AND source = $2;
