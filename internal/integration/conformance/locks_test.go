package conformance

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/fencerow/fencerow/driver"
	"github.com/fencerow/fencerow/fencerowtest"
	"github.com/fencerow/fencerow/internal/integration/servers"
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

func TestPostgresLocksConform(t *testing.T) {
	url := servers.PostgresURL(t)
	fencerowtest.TestLocks(t, fencerowtest.LockHarness{
		Name: "sqllock on Postgres",
		Open: func(ctx context.Context) (driver.LockService, error) {
			db, err := sql.Open("pgx", url)
			if err != nil {
				return nil, err
			}
			t.Cleanup(func() { _ = db.Close() })
			return sqllock.Open(ctx, db, sqllock.Postgres)
		},
		TTL: 300 * time.Millisecond,
	})
}
