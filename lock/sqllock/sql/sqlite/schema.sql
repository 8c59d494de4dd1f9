-- The locks of Fencerow. Never delete a row: its number must not start again.
CREATE TABLE IF NOT EXISTS fencerow_lock (
    resource TEXT    NOT NULL PRIMARY KEY,
    number   INTEGER NOT NULL, -- of the latest grant
    floor    INTEGER NOT NULL DEFAULT 0, -- seeded: later numbers are greater
    grant_id TEXT    NOT NULL, -- of the latest grant
    holder   TEXT    NOT NULL, -- for people
    retired  TEXT NOT NULL DEFAULT '', -- the source that the resource was handed over to
    expires  INTEGER NOT NULL, -- nanoseconds of the host's clock; 0 means released
    epoch    TEXT    NOT NULL  -- the boot in which that clock counts
) STRICT;
-- The identity of this sequence of numbers.
CREATE TABLE IF NOT EXISTS fencerow_source (
    id     INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
    source TEXT    NOT NULL
) STRICT;
