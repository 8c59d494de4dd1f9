package sqllock

import (
	"context"
	"database/sql"
	"errors"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fencerow/fencerow"
	"github.com/fencerow/fencerow/driver"
	"github.com/fencerow/fencerow/internal/integration/servers"
	"github.com/fencerow/fencerow/lock/sqllock"
)

func openPostgres(t *testing.T) (*sqllock.Service, *sql.DB) {
	t.Helper()
	db := servers.Postgres(t)
	svc, err := sqllock.Open(t.Context(), db, sqllock.Postgres)
	if err != nil {
		t.Fatal(err)
	}
	return svc, db
}

// A grant that had to wait for the row's lock gets its whole lease: the clock is read behind the wait.
func TestLeaseBeginsBehindTheWait(t *testing.T) {
	svc, db := openPostgres(t)
	g, err := svc.Acquire(t.Context(), request("account/42", "g"))
	if err != nil {
		t.Fatal(err)
	}
	if err := svc.Release(t.Context(), g); err != nil {
		t.Fatal(err)
	}
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec("SELECT 1 FROM fencerow_lock FOR UPDATE"); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		_, err := svc.Acquire(context.Background(), driver.Request{Resource: "account/42", GrantID: "h", Holder: "test", TTL: time.Second})
		done <- err
	}()
	select {
	case err := <-done:
		t.Fatalf("it did not wait: %v", err)
	case <-time.After(1200 * time.Millisecond): // longer than the TTL
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	state, err := svc.Inspect(t.Context(), "account/42")
	if err != nil || !state.Held || state.Remaining < 500*time.Millisecond || state.Remaining > time.Second {
		t.Errorf("right after the grant: %+v, %v", state, err)
	}
}

func TestPostgresThatIsRefused(t *testing.T) {
	_, db := openPostgres(t)
	var name string
	if err := db.QueryRow("SELECT current_database()").Scan(&name); err != nil {
		t.Fatal(err)
	}
	for what, c := range map[string]struct{ setting, says string }{
		"commits may be lost": {"synchronous_commit = off", "issued twice"},
		"read-only":           {"default_transaction_read_only = on", "accepts no writes"},
	} {
		t.Run(what, func(t *testing.T) {
			fresh := servers.PostgresURL(t)
			u, err := url.Parse(fresh)
			if err != nil {
				t.Fatal(err)
			}
			db, err := sql.Open("pgx", fresh)
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			execute(t, db, `ALTER DATABASE "`+strings.TrimPrefix(u.Path, "/")+`" SET `+c.setting)
			db.SetMaxIdleConns(0) // connect anew, to take on the setting
			if _, err := sqllock.Open(t.Context(), db, sqllock.Postgres); err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("Open = %v, want an error that says %q", err, c.says)
			}
		})
	}
	t.Run("no rights", func(t *testing.T) {
		db := servers.Postgres(t)
		role := "fencerow_" + name
		db.SetMaxOpenConns(1)
		execute(t, db, "CREATE ROLE "+role)
		defer func() { execute(t, db, "RESET ROLE"); execute(t, db, "DROP ROLE "+role) }()
		execute(t, db, "SET ROLE "+role)
		_, err := sqllock.Open(t.Context(), db, sqllock.Postgres)
		if err == nil || !strings.Contains(err.Error(), "Dialect.Schema") || !strings.Contains(err.Error(), "permission denied") {
			t.Errorf("Open = %v", err)
		}
	})
	t.Run("nobody there", func(t *testing.T) {
		db, err := sql.Open("pgx", "postgres://u:secret@127.0.0.1:1/db?sslmode=disable")
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		_, err = sqllock.Open(t.Context(), db, sqllock.Postgres)
		if err == nil || !strings.Contains(err.Error(), "refused") || strings.Contains(err.Error(), "secret") {
			t.Errorf("Open = %v", err)
		}
	})
}

// Many processes open the same new database at once.
func TestConcurrentOpening(t *testing.T) {
	dsn := servers.PostgresURL(t)
	var wg sync.WaitGroup
	var mu sync.Mutex
	sources := map[string]bool{}
	for range 8 {
		wg.Go(func() {
			db, err := sql.Open("pgx", dsn)
			if err != nil {
				t.Error(err)
				return
			}
			defer db.Close()
			svc, err := sqllock.Open(context.Background(), db, sqllock.Postgres)
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			sources[svc.Info().Source] = true
		})
	}
	wg.Wait()
	if len(sources) != 1 {
		t.Errorf("one database has the sources %v", sources)
	}
}

// Where the sessions default to SERIALIZABLE, contention means serialization failures; they are repeated and not shown.
func TestContentionAtSerializable(t *testing.T) {
	_, db := openPostgres(t)
	var name string
	if err := db.QueryRow("SELECT current_database()").Scan(&name); err != nil {
		t.Fatal(err)
	}
	execute(t, db, `ALTER DATABASE "`+name+`" SET default_transaction_isolation = 'serializable'`)
	db.SetMaxIdleConns(0)
	svc, err := sqllock.Open(t.Context(), db, sqllock.Postgres)
	if err != nil {
		t.Fatal(err)
	}
	locker, err := fencerow.New(svc, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer locker.Close()
	var wg sync.WaitGroup
	last, inside := int64(0), 0
	for range 8 {
		wg.Go(func() {
			for range 5 {
				err := locker.Do(context.Background(), "account/42", func(_ context.Context, l *fencerow.Lease) error {
					if inside++; inside != 1 || l.Token().Number() <= last {
						return errors.New("two holders at once, or numbers that do not grow")
					}
					last = l.Token().Number()
					inside--
					return nil
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}
