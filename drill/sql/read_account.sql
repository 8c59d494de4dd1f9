SELECT balance, debits FROM account_balances WHERE account_id = ?;
