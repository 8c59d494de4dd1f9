package servers

import (
	"context"
	"crypto/rand"
	"database/sql"
	"net/url"
	"strings"
	"testing"
	"time"
)

// Postgres returns a fresh, empty database, open with the driver "pgx". It is closed and dropped at the end of the test.
func Postgres(tb testing.TB) *sql.DB {
	tb.Helper()
	return open(tb, "pgx", PostgresURL(tb))
}

// PostgresURL makes a fresh, empty database and returns its URL, for tests that open several pools or give it to another
// process. Each call makes another one. It is dropped at the end of the test, with any connection that is still open.
func PostgresURL(tb testing.TB) string {
	tb.Helper()
	base := address(tb, PostgresEnv)
	name := newName()
	// template0, because template1 cannot be copied while anybody is connected to it.
	maintain(tb, "pgx", base, "CREATE DATABASE "+name+" TEMPLATE template0")
	tb.Cleanup(func() { maintain(tb, "pgx", base, "DROP DATABASE "+name+" WITH (FORCE)") })

	u, err := url.Parse(base)
	if err != nil {
		tb.Fatalf("%s: %v", PostgresEnv, err)
	}
	u.Path = "/" + name
	return u.String()
}

// MariaDB returns a fresh, empty database, open with the driver "mysql". It is closed and dropped at the end of the test.
func MariaDB(tb testing.TB) *sql.DB {
	tb.Helper()
	return open(tb, "mysql", MariaDBDSN(tb))
}

// MariaDBDSN makes a fresh, empty database and returns its DSN. Each call makes another one. It is dropped at the end of the
// test.
func MariaDBDSN(tb testing.TB) string {
	tb.Helper()
	base := address(tb, MariaDBEnv)
	name := newName()
	maintain(tb, "mysql", base, "CREATE DATABASE "+name)
	tb.Cleanup(func() { maintain(tb, "mysql", base, "DROP DATABASE "+name) })
	return base + name
}

func newName() string { return "fencerow_test_" + strings.ToLower(rand.Text()) }

func open(tb testing.TB, driverName, dsn string) *sql.DB {
	tb.Helper()
	db, err := sql.Open(driverName, dsn)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := db.Close(); err != nil {
			tb.Error(err)
		}
	})
	return db
}

// maintain runs one statement that cannot run in a transaction.
func maintain(tb testing.TB, driverName, base, statement string) {
	tb.Helper()
	// Not the context of the test: that is cancelled before the cleanups run.
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	db, err := sql.Open(driverName, base)
	if err != nil {
		tb.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(ctx, statement); err != nil {
		tb.Fatalf("%s: %v", statement, err)
	}
}
