-- What the triggers in log-only mode have let through.
CREATE TABLE IF NOT EXISTS fencerow_violation (
    id          INTEGER PRIMARY KEY,
    at          TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
    relation    TEXT NOT NULL,
    operation   TEXT NOT NULL,
    reason      TEXT NOT NULL, -- unfenced, stale or delete
    resource    TEXT NOT NULL,
    presented   INTEGER,
    stored      INTEGER
) STRICT;
