-- The oldest first.
SELECT place, old_source, old_token, new_source, new_token, decided_by, reason
  FROM fencerow_override
 WHERE resource = {resource}
 ORDER BY id;
