package sqllock

import (
	"context"
	"database/sql"
	"errors"
)

// checkPostgres refuses a session whose commits could be lost in a crash of the server.
func checkPostgres(ctx context.Context, db *sql.DB) error {
	var synchronous string
	if err := db.QueryRowContext(ctx, "SELECT current_setting('synchronous_commit')").Scan(&synchronous); err != nil {
		return err
	}
	if synchronous == "off" {
		return errors.New("synchronous_commit is off: a crash of the server could lose a commit and a number would be issued twice; " +
			"set it to on or local for the connections that take locks")
	}
	return nil
}
