SELECT balance, debits, fence_token FROM account_balances WHERE account_id = ?;
