-- name: Debit :execrows
-- The fence is in the WHERE clause: (stored token, stored step) < (token, step).
UPDATE accounts
   SET balance = balance - sqlc.arg(amount), fence_step = sqlc.arg(step), fence_token = sqlc.arg(token)
 WHERE id = sqlc.arg(id)
   AND (fence_token < sqlc.arg(token) OR (fence_token = sqlc.arg(token) AND fence_step < sqlc.arg(step)));

-- name: Account :one
SELECT * FROM accounts WHERE id = ?;
