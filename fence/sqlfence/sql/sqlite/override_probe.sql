SELECT resource, place, old_token, new_token, decided_by, reason FROM fencerow_override LIMIT 0;
