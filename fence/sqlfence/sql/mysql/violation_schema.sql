-- What the triggers in log-only mode have let through.
CREATE TABLE IF NOT EXISTS fencerow_violation (
    id          BIGINT AUTO_INCREMENT PRIMARY KEY,
    at          TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
    relation    VARCHAR(255) NOT NULL,
    operation   VARCHAR(16) NOT NULL,
    reason      VARCHAR(16) NOT NULL, -- unfenced, stale or delete
    resource    VARBINARY(1024) NOT NULL,
    presented   BIGINT,
    stored      BIGINT,
    who         VARCHAR(255) NOT NULL
) ENGINE = InnoDB;
