-- Sets the mark, which was read under its lock before.
INSERT INTO fencerow_gate (resource, source, fence_token, fence_grant, fence_step)
VALUES ({resource}, {source}, {number}, {grant}, {step})
ON DUPLICATE KEY UPDATE source = VALUES(source), fence_token = VALUES(fence_token), fence_grant = VALUES(fence_grant),
       fence_step = VALUES(fence_step), updated_at = CURRENT_TIMESTAMP(6);
