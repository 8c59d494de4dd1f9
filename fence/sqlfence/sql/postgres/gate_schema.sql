-- The gate of each resource. Never delete a row, and never lower a number: that would let a superseded holder in again.
CREATE TABLE IF NOT EXISTS fencerow_gate (
    resource    text NOT NULL PRIMARY KEY,
    source      text NOT NULL, -- the token sequence that the resource follows
    fence_token bigint NOT NULL CHECK (fence_token >= 0),
    fence_grant text NOT NULL, -- the grant that owns the number
    fence_step  bigint NOT NULL, -- of the latest transaction of that grant, 0 after the claim
    updated_at  timestamptz NOT NULL DEFAULT (clock_timestamp())
);
