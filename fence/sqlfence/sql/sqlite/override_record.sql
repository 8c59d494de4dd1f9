INSERT INTO fencerow_override (resource, place, old_source, old_token, old_grant, new_source, new_token, decided_by, reason)
VALUES ({resource}, {place}, {old_source}, {old_number}, {old_grant}, {source}, {number}, {by}, {why});
