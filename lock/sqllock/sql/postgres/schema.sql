-- The locks of Fencerow. Never delete a row: its number must not start again.
CREATE TABLE IF NOT EXISTS fencerow_lock (
    resource text        NOT NULL PRIMARY KEY,
    number   bigint      NOT NULL, -- of the latest grant
    floor    bigint      NOT NULL DEFAULT 0, -- seeded: later numbers are greater
    grant_id text        NOT NULL, -- of the latest grant
    holder   text        NOT NULL, -- for people
    retired  text NOT NULL DEFAULT '', -- the source that the resource was handed over to
    expires  timestamptz NOT NULL  -- by the server's clock; 1970 means released
);
-- The identity of this sequence of numbers.
CREATE TABLE IF NOT EXISTS fencerow_source (
    id     int  NOT NULL PRIMARY KEY CHECK (id = 1),
    source text NOT NULL
);
