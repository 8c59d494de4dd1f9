-- The marks that were set by hand. Rows are only added.
CREATE TABLE IF NOT EXISTS fencerow_override (
    id         BIGINT AUTO_INCREMENT PRIMARY KEY,
    resource   VARBINARY(255) NOT NULL,
    place      VARBINARY(255) NOT NULL, -- fencerow_gate, or the table of the row
    old_source VARBINARY(255) NOT NULL,
    old_token  BIGINT NOT NULL,
    old_grant  VARBINARY(255) NOT NULL,
    new_source VARBINARY(255) NOT NULL,
    new_token  BIGINT NOT NULL,
    decided_by VARBINARY(255) NOT NULL,
    reason     VARBINARY(4000) NOT NULL,
    decided_at TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6)
) ENGINE = InnoDB;
