-- The gate of each resource. Never delete a row, and never lower a number: that would let a superseded holder in again. The columns
-- are binary, because names are compared byte for byte.
CREATE TABLE IF NOT EXISTS fencerow_gate (
    resource    VARBINARY(255) NOT NULL PRIMARY KEY,
    source      VARBINARY(255) NOT NULL, -- the token sequence that the resource follows
    fence_token BIGINT         NOT NULL CHECK (fence_token >= 0),
    fence_grant VARBINARY(255) NOT NULL, -- the grant that owns the number
    fence_step  BIGINT         NOT NULL, -- of the latest transaction of that grant, 0 after the claim
    updated_at  TIMESTAMP(6)   NOT NULL DEFAULT CURRENT_TIMESTAMP(6)
) ENGINE = InnoDB;
