// Package conformance holds the adapters that need a database to the conformance kit.
package conformance

import (
	"context"
	"database/sql"
	"path/filepath"
	"testing"

	goredis "github.com/redis/go-redis/v9"

	"github.com/fencerow/fencerow/internal/integration/servers"

	_ "modernc.org/sqlite" // the driver of the SQLite tests
)

func TestMain(m *testing.M) {
	goredis.SetLogger(silent{}) // it reports each connection that a test breaks
	servers.Main(m)
}

type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}

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
