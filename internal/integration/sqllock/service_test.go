package sqllock

import (
	"context"
	"database/sql"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/fencerow/fencerow"
	"github.com/fencerow/fencerow/driver"
	"github.com/fencerow/fencerow/lock/sqllock"
)

func request(resource, grant string) driver.Request {
	return driver.Request{Resource: resource, GrantID: grant, Holder: "test", TTL: time.Minute}
}

func TestDatabasesThatAreRefused(t *testing.T) {
	dir := t.TempDir()
	readOnly := filepath.Join(dir, "readonly.db")
	execute(t, openOnly(t, readOnly, params), "CREATE TABLE t (id INTEGER)")
	text := filepath.Join(dir, "text.db")
	if err := os.WriteFile(text, []byte(strings.Repeat("this is no database\n", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		file, params, says string
	}{
		"in memory":        {":memory:", params, "in memory"},
		"shared memory":    {"x", "mode=memory&cache=shared&" + params, "in memory"},
		"synchronous off":  {filepath.Join(dir, "off.db"), strings.Replace(params, "FULL", "OFF", 1), "synchronous is 0"},
		"synchronous less": {filepath.Join(dir, "less.db"), strings.Replace(params, "FULL", "NORMAL", 1), "synchronous is 1"},
		"no folder":        {filepath.Join(dir, "nowhere", "locks.db"), params, "unable to open"},
		"read-only":        {readOnly, params + "&mode=ro", "accepts no writes"},
		"not a database":   {text, params, "not a database"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := sqllock.Open(t.Context(), openOnly(t, c.file, c.params), sqllock.SQLite)
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("Open = %v, want an error that says %q", err, c.says)
			}
		})
	}
	t.Run("closed", func(t *testing.T) {
		db := openOnly(t, newFile(t), params)
		_ = db.Close()
		if _, err := sqllock.Open(t.Context(), db, sqllock.SQLite); err == nil || !strings.Contains(err.Error(), "closed") {
			t.Errorf("Open = %v", err)
		}
	})
	t.Run("no dialect", func(t *testing.T) {
		if _, err := sqllock.Open(t.Context(), openOnly(t, newFile(t), params), sqllock.Dialect{}); err == nil || !strings.Contains(err.Error(), "dialect") {
			t.Errorf("Open = %v", err)
		}
	})
}

func TestDatabaseThatIsClosedLater(t *testing.T) {
	svc, db := open(t, newFile(t), params)
	locker, err := fencerow.New(svc, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer locker.Close()
	lease, err := locker.Acquire(t.Context(), "account/42")
	if err != nil {
		t.Fatal(err)
	}
	_ = db.Close()
	if _, err := locker.TryAcquire(t.Context(), "account/43"); err == nil || !strings.Contains(err.Error(), "closed") {
		t.Errorf("TryAcquire = %v", err)
	}
	if err := lease.Release(t.Context()); err == nil || errors.Is(err, fencerow.ErrLost) || !strings.Contains(err.Error(), "not confirmed") {
		t.Errorf("Release = %v", err)
	}
}

func TestSourceIsOfTheFile(t *testing.T) {
	file := newFile(t)
	first, db := open(t, file, params)
	again, _ := open(t, file, params)
	other, _ := open(t, newFile(t), params)
	if first.Info() != again.Info() || first.Info().Source == other.Info().Source {
		t.Errorf("the sources are %q, %q and of another file %q", first.Info().Source, again.Info().Source, other.Info().Source)
	}
	execute(t, db, "PRAGMA wal_checkpoint(TRUNCATE)")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	copied := newFile(t)
	if err := os.WriteFile(copied, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if restored, _ := open(t, copied, params); restored.Info().Source != first.Info().Source {
		t.Errorf("a copy of the file has the source %q", restored.Info().Source)
	}
}

func TestSchemaCreatesTheTables(t *testing.T) {
	file := newFile(t)
	execute(t, openOnly(t, file, params), sqllock.SQLite.Schema())
	svc, _ := open(t, file, params)
	if _, err := svc.Acquire(t.Context(), request("account/42", "g")); err != nil {
		t.Error(err)
	}
}

// The lease is measured by the boot-time clock, so that no step of the wall clock can end or prolong it.
func TestLeaseIsMeasuredByTheBootTimeClock(t *testing.T) {
	svc, db := open(t, newFile(t), params)
	if _, err := svc.Acquire(t.Context(), request("account/42", "g")); err != nil {
		t.Fatal(err)
	}
	var expires int64
	var epoch string
	if err := db.QueryRow("SELECT expires, epoch FROM fencerow_lock").Scan(&expires, &epoch); err != nil {
		t.Fatal(err)
	}
	var now syscall.Timespec
	if _, _, errno := syscall.Syscall(syscall.SYS_CLOCK_GETTIME, 7, uintptr(unsafe.Pointer(&now)), 0); errno != 0 {
		t.Fatal(errno)
	}
	if left := time.Duration(expires - now.Nano()); left <= 50*time.Second || left > time.Minute {
		t.Errorf("by the boot-time clock %v of a minute are left", left)
	}
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil || strings.TrimSpace(string(id)) != epoch {
		t.Errorf("the epoch is %q, the boot is %q, %v", epoch, id, err)
	}
	// After a reboot the clock starts anew, and nobody is left to hold the lock.
	execute(t, db, "UPDATE fencerow_lock SET epoch = 'the boot before'")
	if state, err := svc.Inspect(t.Context(), "account/42"); err != nil || state.Held {
		t.Errorf("a lease of the boot before: %+v, %v", state, err)
	}
	g, err := svc.Acquire(t.Context(), request("account/42", "h"))
	if err != nil || g.Number != 2 {
		t.Errorf("after a reboot: %+v, %v", g, err)
	}
}

func TestBusyDatabaseIsWaitedFor(t *testing.T) {
	file := newFile(t)
	// Without a busy timeout of its own every statement would fail at once.
	svc, _ := open(t, file, strings.Replace(params, "busy_timeout(5000)", "busy_timeout(0)", 1))
	writer := openOnly(t, file, params)
	tx, err := writer.Begin()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec("CREATE TABLE t (id INTEGER)"); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		_, err := svc.Acquire(context.Background(), request("account/42", "g"))
		done <- err
	}()
	select {
	case err := <-done:
		t.Fatalf("it did not wait: %v", err)
	case <-time.After(200 * time.Millisecond):
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestNumbersDoNotWrap(t *testing.T) {
	svc, _ := open(t, newFile(t), params)
	if err := svc.Seed(t.Context(), "account/42", math.MaxInt64-1); err != nil {
		t.Fatal(err)
	}
	g, err := svc.Acquire(t.Context(), request("account/42", "g"))
	if err != nil || g.Number != math.MaxInt64 {
		t.Fatalf("the last number: %+v, %v", g, err)
	}
	if err := svc.Release(t.Context(), g); err != nil {
		t.Fatal(err)
	}
	if g, err := svc.Acquire(t.Context(), request("account/42", "h")); err == nil {
		t.Errorf("behind the last number: %+v", g)
	}
	if err := svc.Seed(t.Context(), "account/42", -1); err == nil || !strings.Contains(err.Error(), "negative") {
		t.Errorf("a negative seed: %v", err)
	}
}

func TestReleaseMayBeRepeated(t *testing.T) {
	svc, _ := open(t, newFile(t), params)
	g, err := svc.Acquire(t.Context(), request("account/42", "g"))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second as after a lost reply
		if err := svc.Release(t.Context(), g); err != nil {
			t.Error(err)
		}
	}
	if _, err := svc.Acquire(t.Context(), request("account/42", "h")); err != nil {
		t.Fatal(err)
	}
	if err := svc.Release(t.Context(), g); !errors.Is(err, driver.ErrNotCurrent) {
		t.Errorf("a release after somebody followed: %v", err)
	}
}

// A row that was deleted would start its numbers anew.
func TestRowsAreNeverDeleted(t *testing.T) {
	svc, db := open(t, newFile(t), params)
	for range 3 {
		g, err := svc.Acquire(t.Context(), request("account/42", "g"))
		if err != nil {
			t.Fatal(err)
		}
		if err := svc.Release(t.Context(), g); err != nil {
			t.Fatal(err)
		}
	}
	var rows, number int
	if err := db.QueryRow("SELECT count(*), max(number) FROM fencerow_lock").Scan(&rows, &number); err != nil || rows != 1 || number != 3 {
		t.Errorf("%d rows, number %d, %v", rows, number, err)
	}
}

func execute(t *testing.T, db *sql.DB, statement string) {
	t.Helper()
	if _, err := db.Exec(statement); err != nil {
		t.Fatal(err)
	}
}
