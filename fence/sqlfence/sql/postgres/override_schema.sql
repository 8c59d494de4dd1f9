-- The marks that were set by hand. Rows are only added.
CREATE TABLE IF NOT EXISTS fencerow_override (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    resource   text   NOT NULL,
    place      text   NOT NULL, -- fencerow_gate, or the table of the row
    old_source text   NOT NULL,
    old_token  bigint NOT NULL,
    old_grant  text   NOT NULL,
    new_source text   NOT NULL,
    new_token  bigint NOT NULL,
    decided_by text   NOT NULL,
    reason     text   NOT NULL,
    decided_at timestamptz NOT NULL DEFAULT (clock_timestamp())
);
