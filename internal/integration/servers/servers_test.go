package servers

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

func TestMain(m *testing.M) { Main(m) }

func startForTest(t *testing.T) *PostgresServer {
	t.Helper()
	s, err := StartPostgres(t.Context())
	if err != nil {
		Unavailable(t, err)
	}
	return s
}

// Every kind of server starts, answers, and leaves nothing behind.
func TestEachKindStartsAndStops(t *testing.T) {
	for _, kind := range Kinds {
		t.Run(kind.Env, func(t *testing.T) {
			s, err := kind.Start(t.Context())
			if err != nil {
				Unavailable(t, err)
			}
			before, _ := filepath.Glob(filepath.Join(os.TempDir(), workDirPrefix+"*"))
			if err := s.Stop(); err != nil {
				t.Error(err)
			}
			after, _ := filepath.Glob(filepath.Join(os.TempDir(), workDirPrefix+"*"))
			if len(after) >= len(before) {
				t.Errorf("the folders after Stop are %v, before they were %v", after, before)
			}
		})
	}
}

func TestNodeIsFrozenKilledAndStartedAgain(t *testing.T) {
	s := Start(t, func(ctx context.Context) (*RedisServer, error) { return StartRedis(ctx) })
	if answer, err := s.Command(t.Context(), "SET", "k", "v"); err != nil || answer != "+OK" {
		t.Fatal(answer, err)
	}
	if err := s.Freeze(); err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if answer, err := s.Command(short, "PING"); err == nil {
		t.Errorf("a frozen server answers %s", answer)
	}
	if err := errors.Join(s.Thaw(), s.Kill(), s.Node.Start(t.Context())); err != nil {
		t.Fatal(err)
	}
	if answer, err := s.Command(t.Context(), "STRLEN", "k"); err != nil || answer != ":1" {
		t.Errorf("after a restart: %s, %v", answer, err)
	}
}

func TestPostgresStartsAndStops(t *testing.T) {
	s := startForTest(t)
	db, err := sql.Open("pgx", s.URL("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var listens string
	if err := db.QueryRow("SHOW listen_addresses").Scan(&listens); err != nil || listens != "127.0.0.1" {
		t.Errorf("listen_addresses: %q, %v", listens, err)
	}
	pid := s.proc.cmd.Process.Pid

	// The connection of db is open: Stop must not wait for it.
	if err := s.Stop(); err != nil {
		t.Errorf("Stop: %v", err)
	}
	if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("process %d after Stop: %v, want it gone", pid, err)
	}
	if l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", s.port)); err != nil {
		t.Errorf("the port is not free after Stop: %v", err)
	} else {
		l.Close()
	}
	if _, err := os.Stat(s.dir.path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s after Stop: %v, want it gone", s.dir.path, err)
	}
}

func TestStopReportsAServerThatEndedBefore(t *testing.T) {
	s := startForTest(t)
	// An immediate shutdown: like a crash, and unlike SIGKILL it leaves no shared memory behind.
	if err := s.proc.cmd.Process.Signal(syscall.SIGQUIT); err != nil {
		t.Fatal(err)
	}
	<-s.proc.done
	if err := s.Stop(); err == nil {
		t.Error("Stop does not say that the server had ended")
	}
	if _, err := os.Stat(s.dir.path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s after Stop: %v, want it gone", s.dir.path, err)
	}
}

func TestEachTestHasItsDatabase(t *testing.T) {
	var dropped string
	t.Run("inner", func(t *testing.T) {
		one, two := Postgres(t), Postgres(t)
		if _, err := one.Exec("CREATE TABLE only_in_one (x int)"); err != nil {
			t.Fatal(err)
		}
		if _, err := two.Exec("SELECT x FROM only_in_one"); err == nil {
			t.Error("two calls share a database")
		}
		if err := one.QueryRow("SELECT current_database()").Scan(&dropped); err != nil {
			t.Fatal(err)
		}
	})
	if t.Skipped() || dropped == "" {
		return
	}
	var n int
	if err := Postgres(t).QueryRow("SELECT count(*) FROM pg_database WHERE datname = $1", dropped).Scan(&n); err != nil || n != 0 {
		t.Errorf("database %s after its test: %d, %v, want it dropped", dropped, n, err)
	}
}

func TestDropBreaksOpenConnections(t *testing.T) {
	t.Run("inner", func(t *testing.T) {
		db, err := sql.Open("pgx", PostgresURL(t))
		if err != nil {
			t.Fatal(err)
		}
		if err := db.Ping(); err != nil {
			t.Fatal(err)
		}
		// Left open: the cleanup must drop the database all the same.
	})
}

func TestGivenServerIsUsed(t *testing.T) {
	t.Setenv(PostgresEnv, "postgres://nobody@127.0.0.1:1/elsewhere")
	if url := address(t, PostgresEnv); !strings.HasPrefix(url, "postgres://nobody@") {
		t.Errorf("the address is %s", url)
	}
}

func TestMissingServer(t *testing.T) {
	missing := fmt.Errorf("none: %w", exec.ErrNotFound)
	for _, c := range []struct {
		ci     string
		err    error
		failed bool
	}{
		{"", missing, false},
		{"true", missing, true},
		{"", errors.New("it is there and does not start"), true},
	} {
		t.Setenv("CI", c.ci)
		end := &endOfTest{TB: t}
		func() {
			defer func() { _ = recover() }()
			Unavailable(end, c.err)
		}()
		if end.failed != c.failed || end.skipped == c.failed {
			t.Errorf("CI=%q, %v: failed %v, skipped %v", c.ci, c.err, end.failed, end.skipped)
		}
	}
}

// endOfTest notes how a test would have ended.
type endOfTest struct {
	testing.TB
	failed, skipped bool
}

func (e *endOfTest) Fatal(...any) { e.failed = true; panic(e) }
func (e *endOfTest) Skip(...any)  { e.skipped = true; panic(e) }

func TestAbandonedFolders(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	used, err := newWorkDir("test", account{})
	if err != nil {
		t.Fatal(err)
	}
	abandoned, err := newWorkDir("test", account{})
	if err != nil {
		t.Fatal(err)
	}
	abandoned.lock.Close() // what the end of the process does

	next, err := newWorkDir("test", account{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(abandoned.path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the abandoned folder: %v, want it gone", err)
	}
	for _, d := range []*workDir{used, next} {
		if _, err := os.Stat(d.path); err != nil {
			t.Errorf("a folder in use: %v", err)
		}
		if err := d.remove(); err != nil {
			t.Error(err)
		}
	}
}

// Servers start side by side: none takes the folder of another for abandoned.
func TestFoldersThatAreMadeSideBySide(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				d, err := newWorkDir("test", account{})
				if err != nil {
					t.Error(err)
					return
				}
				if _, err := os.Stat(d.path); err != nil {
					t.Error(err)
				}
				if err := d.remove(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

func TestStartHonoursItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s, err := StartPostgres(ctx)
	if err == nil {
		_ = s.Stop()
		t.Fatal("a server started although the context was cancelled")
	}
}
