-- The gate of each resource. Never delete a row, and never lower a number: that would let a superseded holder in again.
CREATE TABLE IF NOT EXISTS fencerow_gate (
    resource    TEXT NOT NULL PRIMARY KEY,
    source      TEXT NOT NULL, -- the token sequence that the resource follows
    fence_token INTEGER NOT NULL CHECK (fence_token >= 0),
    fence_grant TEXT NOT NULL, -- the grant that owns the number
    fence_step  INTEGER NOT NULL, -- of the latest transaction of that grant, 0 after the claim
    updated_at  TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
) STRICT;
