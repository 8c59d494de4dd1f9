-- What a program without a fence does: nothing here knows who holds the lock.
UPDATE account_balances SET balance = balance - ?, debits = debits + 1 WHERE account_id = ?;
