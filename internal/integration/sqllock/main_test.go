// Package sqllock tests the lock table on SQLite and Postgres: across processes, under contention, and what it refuses.
package sqllock

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/fencerow/fencerow/internal/integration/servers"
	"github.com/fencerow/fencerow/lock/sqllock"

	_ "modernc.org/sqlite" // the driver under test
)

// The test binary is also the process that takes locks in a file.
func TestMain(m *testing.M) {
	if len(os.Args) == 4 && os.Args[1] == contenderMode {
		if err := contend(os.Args[2], os.Args[3]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	servers.Main(m)
}

const params = "_txlock=immediate&_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)"

func openDB(file, params string) (*sql.DB, error) { return sql.Open("sqlite", "file:"+file+"?"+params) }

// open returns a lock service in a file and the handle under it.
func open(t *testing.T, file, params string) (*sqllock.Service, *sql.DB) {
	t.Helper()
	db := openOnly(t, file, params)
	svc, err := sqllock.Open(context.Background(), db, sqllock.SQLite)
	if err != nil {
		t.Fatal(err)
	}
	return svc, db
}

func openOnly(t *testing.T, file, params string) *sql.DB {
	t.Helper()
	db, err := openDB(file, params)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func newFile(t *testing.T) string { return filepath.Join(t.TempDir(), "locks.db") }
