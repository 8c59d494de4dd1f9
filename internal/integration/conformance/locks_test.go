package conformance

import (
	"context"
	"testing"
	"time"

	"github.com/fencerow/fencerow/driver"
	"github.com/fencerow/fencerow/fencerowtest"
	"github.com/fencerow/fencerow/lock/sqllock"
)

func TestSQLiteLocksConform(t *testing.T) {
	file := newFile(t)
	fencerowtest.TestLocks(t, fencerowtest.LockHarness{
		Name: "sqllock on SQLite",
		Open: func(ctx context.Context) (driver.LockService, error) {
			// A connection pool of its own, as another process would have.
			return sqllock.Open(ctx, openSQLite(t, file), sqllock.SQLite)
		},
		TTL: 300 * time.Millisecond,
	})
}
