-- The highest number that was granted of each resource. Never delete a row and never lower a number.
CREATE TABLE IF NOT EXISTS fencerow_high_water (
    source   text   NOT NULL,
    resource text   NOT NULL,
    number   bigint NOT NULL,
    PRIMARY KEY (source, resource)
);
