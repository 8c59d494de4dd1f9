CREATE TABLE account_balances (
    account_id  TEXT    NOT NULL PRIMARY KEY,
    balance     INTEGER NOT NULL,
    debits      INTEGER NOT NULL DEFAULT 0,
    fence_token INTEGER NOT NULL DEFAULT 0,
    fence_step  INTEGER NOT NULL DEFAULT 0,
    fence_grant TEXT    NOT NULL DEFAULT ''
) STRICT;
