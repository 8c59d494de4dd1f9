-- The highest number that was granted of each resource. Never delete a row and never lower a number.
CREATE TABLE IF NOT EXISTS fencerow_high_water (
    source   VARBINARY(128) NOT NULL,
    resource VARBINARY(255) NOT NULL,
    number   BIGINT         NOT NULL,
    PRIMARY KEY (source, resource)
) ENGINE = InnoDB;
