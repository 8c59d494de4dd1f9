INSERT INTO account_balances (account_id, balance) VALUES (?, ?);
