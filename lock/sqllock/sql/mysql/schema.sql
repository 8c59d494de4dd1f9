-- The locks of Fencerow. Never delete a row: its number must not start again. The columns are binary, because names are compared
-- byte for byte.
CREATE TABLE IF NOT EXISTS fencerow_lock (
    resource VARBINARY(255)  NOT NULL PRIMARY KEY,
    number   BIGINT          NOT NULL, -- of the latest grant
    floor    BIGINT          NOT NULL DEFAULT 0, -- seeded: later numbers are greater
    grant_id VARBINARY(255)  NOT NULL, -- of the latest grant
    holder   VARBINARY(1024) NOT NULL, -- for people
    retired  VARBINARY(255)  NOT NULL DEFAULT '', -- the source that the resource was handed over to
    expires  BIGINT          NOT NULL  -- microseconds since 1970 by the server's clock; 0 means released
) ENGINE = InnoDB;
-- The identity of this sequence of numbers.
CREATE TABLE IF NOT EXISTS fencerow_source (
    id     INT          NOT NULL PRIMARY KEY,
    source VARCHAR(255) NOT NULL
) ENGINE = InnoDB;
