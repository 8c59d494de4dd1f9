-- What the triggers in log-only mode have let through.
CREATE TABLE IF NOT EXISTS fencerow_violation (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at          timestamptz NOT NULL DEFAULT (clock_timestamp()),
    relation    text NOT NULL,
    operation   text NOT NULL,
    reason      text NOT NULL, -- unfenced, stale, delete or truncate
    resource    text NOT NULL, -- of the row, or the table's name
    presented   bigint,
    stored      bigint,
    who         text NOT NULL DEFAULT (session_user),
    application text NOT NULL DEFAULT (current_setting('application_name', true)),
    statement   text NOT NULL DEFAULT (left(current_query(), 1000))
);
