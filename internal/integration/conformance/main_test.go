// Package conformance holds the adapters that need a database to the conformance kit.
package conformance

import (
	"database/sql"
	"path/filepath"
	"testing"

	"github.com/fencerow/fencerow/internal/integration/servers"

	_ "modernc.org/sqlite" // the driver of the SQLite tests
)

func TestMain(m *testing.M) { servers.Main(m) }

func newFile(t *testing.T) string { return filepath.Join(t.TempDir(), "test.db") }

func sqliteDSN(file string) string {
	return "file:" + file + "?_txlock=immediate&_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)"
}

// openSQLite opens the database in a file of that name.
func openSQLite(t *testing.T, file string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", sqliteDSN(file))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}
