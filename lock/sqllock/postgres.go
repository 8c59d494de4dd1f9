package sqllock

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
)

// checkPostgres refuses a session whose commits could be lost in a crash of the server.
func checkPostgres(ctx context.Context, db *sql.DB) error {
	var version, synchronous string
	err := db.QueryRowContext(ctx, "SELECT current_setting('server_version_num'), current_setting('synchronous_commit')").
		Scan(&version, &synchronous)
	if err == nil {
		err = postgresTooOld(version)
	}
	if err != nil {
		return err
	}
	if synchronous == "off" {
		return errors.New("synchronous_commit is off: a crash of the server could lose a commit and a number would be issued twice; " +
			"set it to on or local for the connections that take locks")
	}
	return nil
}

const oldestPostgres = 11

// postgresTooOld reads server_version_num, such as 150018.
func postgresTooOld(version string) error {
	if n, err := strconv.Atoi(version); err == nil && n/10000 < oldestPostgres {
		return fmt.Errorf("the server is PostgreSQL %d, %d or later is needed: upgrade it", n/10000, oldestPostgres)
	}
	return nil
}
