package sqllock

import (
	"context"
	"database/sql"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// checkMySQL refuses a server that is too old, and one whose commits could be lost in a crash.
func checkMySQL(ctx context.Context, db *sql.DB) error {
	var version string
	var flush int
	err := db.QueryRowContext(ctx, "SELECT VERSION(), @@GLOBAL.innodb_flush_log_at_trx_commit").Scan(&version, &flush)
	if err != nil {
		return err
	}
	if err := mysqlTooOld(version); err != nil {
		return err
	}
	if flush != 1 {
		return fmt.Errorf("innodb_flush_log_at_trx_commit is %d: a crash could lose a commit and a number would be issued twice; "+
			"set it to 1", flush)
	}
	return nil
}

var versionForm = regexp.MustCompile(`^(?:5\.5\.5-)?(\d+)\.(\d+)`) // MariaDB once put 5.5.5- before its own

func mysqlTooOld(version string) error {
	m := versionForm.FindStringSubmatch(version)
	if m == nil {
		return nil // unknown: it gets its chance
	}
	major, _ := strconv.Atoi(m[1])
	minor, _ := strconv.Atoi(m[2])
	needed, neededMajor, neededMinor := "MySQL 8.0", 8, 0
	if strings.Contains(version, "MariaDB") {
		needed, neededMajor, neededMinor = "MariaDB 10.3", 10, 3
	}
	if major < neededMajor || major == neededMajor && minor < neededMinor {
		return fmt.Errorf("the server is %s, %s or later is needed: upgrade it", version, needed)
	}
	return nil
}
