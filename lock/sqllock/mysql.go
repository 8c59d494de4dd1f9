package sqllock

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// checkMySQL refuses a server that is too old, one whose commits could be lost in a crash, and a session that does not commit.
func checkMySQL(ctx context.Context, db *sql.DB) error {
	var m mysqlSettings
	err := db.QueryRowContext(ctx, "SELECT VERSION(), @@GLOBAL.innodb_flush_log_at_trx_commit, @@GLOBAL.log_bin, @@GLOBAL.sync_binlog, @@autocommit").
		Scan(&m.version, &m.flush, &m.binlog, &m.sync, &m.autocommit)
	if err != nil {
		return err
	}
	return m.check()
}

type mysqlSettings struct {
	version                         string
	flush, binlog, sync, autocommit int
}

func (m mysqlSettings) check() error {
	if err := mysqlTooOld(m.version); err != nil {
		return err
	}
	const lost = "a crash could lose a commit and a number would be issued twice"
	switch {
	case m.flush != 1 && (m.flush != 3 || !strings.Contains(m.version, "MariaDB")): // 3 syncs once more
		return fmt.Errorf("innodb_flush_log_at_trx_commit is %d: %s; set it to 1", m.flush, lost)
	case m.binlog != 0 && m.sync != 1: // after a crash a transaction that the binary log lacks is rolled back
		return fmt.Errorf("there is a binary log and sync_binlog is %d: %s; set it to 1", m.sync, lost)
	case m.autocommit == 0:
		return errors.New("autocommit is off in the connections: nothing would be committed; leave it on")
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
