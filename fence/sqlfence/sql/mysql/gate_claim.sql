-- Raises the mark if the number is new. What is stored then is read afterwards. Assignments are made from left to right, so that the
-- token, by which the others are decided, comes last.
INSERT INTO fencerow_gate (resource, source, fence_token, fence_grant, fence_step)
VALUES ({resource}, {source}, {number}, {grant}, 0)
ON DUPLICATE KEY UPDATE
       fence_step  = IF(source = VALUES(source) AND fence_token < VALUES(fence_token) AND (fence_token = 0 OR VALUES(fence_token) - fence_token <= {jump}), 0, fence_step),
       fence_grant = IF(source = VALUES(source) AND fence_token < VALUES(fence_token) AND (fence_token = 0 OR VALUES(fence_token) - fence_token <= {jump}), VALUES(fence_grant), fence_grant),
       updated_at  = IF(source = VALUES(source) AND fence_token < VALUES(fence_token) AND (fence_token = 0 OR VALUES(fence_token) - fence_token <= {jump}), CURRENT_TIMESTAMP(6), updated_at),
       fence_token = IF(source = VALUES(source) AND fence_token < VALUES(fence_token) AND (fence_token = 0 OR VALUES(fence_token) - fence_token <= {jump}), VALUES(fence_token), fence_token);
