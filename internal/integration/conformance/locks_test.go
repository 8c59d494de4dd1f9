package conformance

import (
	"context"
	"database/sql"
	"errors"
	"regexp"
	"testing"
	"time"

	"github.com/fencerow/fencerow/driver"
	"github.com/fencerow/fencerow/fencerowtest"
	"github.com/fencerow/fencerow/internal/integration/servers"
	"github.com/fencerow/fencerow/internal/integration/wire"
	"github.com/fencerow/fencerow/lock/sqllock"
)

func TestSQLiteLocksConform(t *testing.T) {
	t.Parallel()
	file := newFile(t)
	fencerowtest.TestLocks(t, fencerowtest.LockHarness{
		Name: "sqllock on SQLite",
		Open: func(ctx context.Context) (driver.LockService, error) {
			return openHandle(ctx, sqllock.SQLite, "sqlite", sqliteDSN(file))
		},
		TTL:      300 * time.Millisecond,
		Patience: 10 * time.Second, // one writer at a time, and each waits for the disk
	})
}

func TestMariaDBLocksConform(t *testing.T) {
	t.Parallel()
	dsn := servers.MariaDBDSN(t)
	for name, parameters := range map[string]string{"changed rows": "", "found rows": "?clientFoundRows=true"} {
		t.Run(name, func(t *testing.T) {
			fencerowtest.TestLocks(t, fencerowtest.LockHarness{
				Name: "sqllock on MariaDB, " + name,
				Open: func(ctx context.Context) (driver.LockService, error) {
					return openHandle(ctx, sqllock.MySQL, "mysql", dsn+parameters)
				},
				TTL:       300 * time.Millisecond,
				OpenWired: openWired(t, sqllock.MySQL, "mysql", dsn),
			})
		})
	}
}

func TestPostgresLocksConform(t *testing.T) {
	t.Parallel()
	url := servers.PostgresURL(t)
	fencerowtest.TestLocks(t, fencerowtest.LockHarness{
		Name: "sqllock on Postgres",
		Open: func(ctx context.Context) (driver.LockService, error) {
			return openHandle(ctx, sqllock.Postgres, "pgx", url)
		},
		TTL:       300 * time.Millisecond,
		Restart:   func(ctx context.Context) error { return endSessions(ctx, url) },
		OpenWired: openWired(t, sqllock.Postgres, "pgx", url),
	})
}

// host is the host and port in a DSN.
var host = regexp.MustCompile(`127\.0\.0\.1:\d+`)

// openWired opens the service through a wire.
func openWired(t *testing.T, dialect sqllock.Dialect, driverName, dsn string) func(context.Context) (driver.LockService, fencerowtest.Wire, error) {
	return func(ctx context.Context) (driver.LockService, fencerowtest.Wire, error) {
		w := wire.Start(t, host.FindString(dsn))
		svc, err := openHandle(ctx, dialect, driverName, host.ReplaceAllString(dsn, w.Addr()))
		return svc, w, err
	}
}

// handle is the service as another process would open it: on a pool of connections of its own, which ends with it.
type handle struct {
	*sqllock.Service
	db *sql.DB
}

func openHandle(ctx context.Context, dialect sqllock.Dialect, driverName, dsn string) (driver.LockService, error) {
	db, err := sql.Open(driverName, dsn)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(8) // many waiters share them
	svc, err := sqllock.Open(ctx, db, dialect)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return handle{svc, db}, nil
}

func (h handle) Close() error { return errors.Join(h.Service.Close(), h.db.Close()) }

// endSessions ends every session of the database, which is what clients see of a restart. The server itself goes on: other tests
// use it too.
func endSessions(ctx context.Context, url string) error {
	db, err := sql.Open("pgx", url)
	if err != nil {
		return err
	}
	defer db.Close()
	_, err = db.ExecContext(ctx, `
		SELECT pg_terminate_backend(pid)
		  FROM pg_stat_activity
		 WHERE datname = current_database()
		   AND pid <> pg_backend_pid()`)
	return err
}
