CREATE TABLE accounts (
    id          integer NOT NULL PRIMARY KEY,
    balance     integer NOT NULL,
    fence_token integer NOT NULL DEFAULT 0,
    fence_step  integer NOT NULL DEFAULT 0
);
