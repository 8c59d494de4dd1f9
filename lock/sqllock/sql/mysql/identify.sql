-- ? a source for a new database
INSERT IGNORE INTO fencerow_source (id, source) VALUES (1, ?);
