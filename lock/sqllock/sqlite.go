package sqllock

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

const sqliteAdvice = `open the file with "?_txlock=immediate&_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)"` +
	` or your driver's equivalent`

// checkSQLite refuses a database whose commits could be lost or that other processes could not see.
func checkSQLite(ctx context.Context, db *sql.DB) error {
	file, err := sqliteFile(ctx, db)
	if err != nil {
		return err
	}
	if file == "" {
		return errors.New("the database is in memory, where each connection has its own: use a file, or lock/memlock within one process")
	}
	if err := checkFilesystem(file); err != nil {
		return err
	}
	var synchronous int
	if err := db.QueryRowContext(ctx, "PRAGMA synchronous").Scan(&synchronous); err != nil {
		return err
	}
	if synchronous < 2 {
		return fmt.Errorf("PRAGMA synchronous is %d: a power failure could lose a commit and a number would be issued twice; %s",
			synchronous, sqliteAdvice)
	}
	return nil
}

// sqliteFile returns the path of the main database.
func sqliteFile(ctx context.Context, db *sql.DB) (string, error) {
	rows, err := db.QueryContext(ctx, "PRAGMA database_list")
	if err != nil {
		return "", err
	}
	defer rows.Close()
	for rows.Next() {
		var seq int
		var name string
		var file sql.NullString
		if err := rows.Scan(&seq, &name, &file); err != nil {
			return "", err
		}
		if name == "main" {
			return file.String, rows.Err()
		}
	}
	return "", rows.Err()
}
