package locks

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fencerow/fencerow"
	"github.com/fencerow/fencerow/driver"
	"github.com/fencerow/fencerow/fencerowtest"
	"github.com/fencerow/fencerow/internal/integration/servers"
	"github.com/fencerow/fencerow/lock/sqllock"
)

// pgxListener listens on a connection of its own, as the documentation of sqllock.Listener shows.
type pgxListener struct{ url string }

func (l pgxListener) Listen(ctx context.Context, channel string, received func(payload string)) error {
	conn, err := pgx.Connect(ctx, l.url)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if _, err := conn.Exec(ctx, "LISTEN "+channel); err != nil {
		return err
	}
	for {
		notification, err := conn.WaitForNotification(ctx)
		if err != nil {
			return err
		}
		received(notification.Payload)
	}
}

// sqlHandle is the service on a pool of its own.
type sqlHandle struct {
	*sqllock.Service
	closeDB func() error
}

func (h sqlHandle) Close() error { return h.closeDB() }

// listeningHandle is the service on a pool of its own.
type listeningHandle struct {
	*sqllock.Listening
	closeDB func() error
}

func (h listeningHandle) Close() error {
	_ = h.Listening.Close()
	return h.closeDB()
}

func openListening(t *testing.T, url string) (driver.LockService, error) {
	db := openDB(t, "pgx", url)
	db.SetMaxOpenConns(4)
	svc, err := sqllock.OpenListening(t.Context(), db, sqllock.Postgres, pgxListener{url})
	if err != nil {
		return nil, err
	}
	return listeningHandle{svc, db.Close}, nil
}

func TestListeningPostgresLocksConform(t *testing.T) {
	t.Parallel()
	url := servers.PostgresURL(t)
	fencerowtest.TestLocks(t, fencerowtest.LockHarness{
		Name: "sqllock on Postgres, listening",
		Open: func(context.Context) (driver.LockService, error) { return openListening(t, url) },
		TTL:  300 * time.Millisecond,
	})
}

// counted counts the acquires of a lock service.
type counted struct {
	driver.LockService
	driver.Waiter
	acquires atomic.Int64
}

func (c *counted) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	c.acquires.Add(1)
	return c.LockService.Acquire(ctx, r)
}

// A waiter that is told of releases asks when there is one, and by the floor beneath it, instead of all the time.
func TestListeningWaiterAsksSeldom(t *testing.T) {
	t.Parallel()
	url := servers.PostgresURL(t)
	holderService, err := openListening(t, url)
	if err != nil {
		t.Fatal(err)
	}
	waiterService, err := openListening(t, url)
	if err != nil {
		t.Fatal(err)
	}
	service := &counted{LockService: waiterService, Waiter: waiterService.(driver.Waiter)}
	holder := newLocker(t, holderService, fencerow.Options{TTL: time.Minute})
	waiter := newLocker(t, service, fencerow.Options{TTL: time.Minute})
	const rounds, hold = 5, 300 * time.Millisecond
	for range rounds {
		lease := acquire(t, holder, account)
		time.AfterFunc(hold, func() { _ = lease.Release(context.Background()) })
		release(t, acquire(t, waiter, account))
	}
	// Polling would ask at 5, 15, 35, 75, 155 and 305 ms at the latest.
	if asked := service.acquires.Load(); asked > 4*rounds {
		t.Errorf("the waiter asked %d times in %d rounds", asked, rounds)
	}
}

// Waiters are served while the listener's connection breaks again and again.
func TestListenerThatBreaksIsOnlyAHint(t *testing.T) {
	t.Parallel()
	url := servers.PostgresURL(t)
	svc, err := openListening(t, url)
	if err != nil {
		t.Fatal(err)
	}
	lk := newLocker(t, svc, fencerow.Options{TTL: time.Minute})
	db := openDB(t, "pgx", url)
	for range 3 {
		lease := acquire(t, lk, account)
		granted := make(chan error, 1)
		go func() {
			next, err := lk.Acquire(context.Background(), account)
			if err == nil {
				err = next.Release(context.Background())
			}
			granted <- err
		}()
		eventually(t, "the listener is connected", func() error {
			var n int
			err := db.QueryRow("SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%'").Scan(&n)
			return err
		})
		if _, err := db.Exec("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%'"); err != nil {
			t.Fatal(err)
		}
		release(t, lease)
		select {
		case err := <-granted:
			if err != nil {
				t.Fatal(err)
			}
		case <-time.After(20 * time.Second):
			t.Fatal("the waiter is stuck")
		}
	}
}

// Behind a pooler in transaction mode each statement may go to another session, and what a session was told is forgotten. A
// connection for each statement, discarded after it, is the same to the service.
func TestPostgresLocksConformBehindAPooler(t *testing.T) {
	t.Parallel()
	url := servers.PostgresURL(t)
	fencerowtest.TestLocks(t, fencerowtest.LockHarness{
		Name: "sqllock on Postgres, behind a pooler",
		Open: func(ctx context.Context) (driver.LockService, error) {
			// As documented for poolers: no prepared statements, whose names would be those of another session.
			db := openDB(t, "pgx", url+"&default_query_exec_mode=exec")
			db.SetMaxIdleConns(-1) // each statement gets a new session
			db.SetMaxOpenConns(4)
			svc, err := sqllock.Open(ctx, db, sqllock.Postgres)
			if err != nil {
				return nil, err
			}
			return sqlHandle{svc, db.Close}, nil
		},
		TTL: 400 * time.Millisecond,
	})
}
