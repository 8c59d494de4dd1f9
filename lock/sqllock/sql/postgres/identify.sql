-- $1 a source for a new database
INSERT INTO fencerow_source (id, source) VALUES (1, $1) ON CONFLICT (id) DO NOTHING;
