-- The highest number that was granted of each resource. Never delete a row and never lower a number.
CREATE TABLE IF NOT EXISTS fencerow_high_water (
    source   TEXT    NOT NULL,
    resource TEXT    NOT NULL,
    number   INTEGER NOT NULL,
    PRIMARY KEY (source, resource)
) STRICT;
