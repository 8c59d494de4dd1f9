-- The marks that were set by hand. Rows are only added.
CREATE TABLE IF NOT EXISTS fencerow_override (
    id         INTEGER PRIMARY KEY,
    resource   TEXT    NOT NULL,
    place      TEXT    NOT NULL, -- fencerow_gate, or the table of the row
    old_source TEXT    NOT NULL,
    old_token  INTEGER NOT NULL,
    old_grant  TEXT    NOT NULL,
    new_source TEXT    NOT NULL,
    new_token  INTEGER NOT NULL,
    decided_by TEXT    NOT NULL,
    reason     TEXT    NOT NULL,
    decided_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
) STRICT;
