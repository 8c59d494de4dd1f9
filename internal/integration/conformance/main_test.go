// Package conformance holds the adapters that need a database to the conformance kit.
package conformance

import (
	"context"
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
