package servers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"testing"
)

// PostgresEnv names the environment variable with the URL of a server to use. Its user must be allowed to create databases.
const PostgresEnv = "FENCEROW_POSTGRES_URL"

// shared is the server of this test binary. The first test that asks for one starts it; Main stops it.
var shared struct {
	mu       sync.Mutex
	mainRuns bool
	tried    bool
	server   *PostgresServer
	err      error
}

// Main runs the tests, stops what they started and exits. It is the whole TestMain of a package that uses this one.
func Main(m *testing.M) {
	shared.mu.Lock()
	shared.mainRuns = true
	shared.mu.Unlock()
	code := m.Run()
	if err := stopShared(); err != nil {
		fmt.Fprintln(os.Stderr, "servers:", err)
		code = max(code, 1)
	}
	os.Exit(code)
}

func stopShared() error {
	shared.mu.Lock()
	defer shared.mu.Unlock()
	server := shared.server
	shared.server, shared.err, shared.tried = nil, nil, false
	if server == nil {
		return nil
	}
	return server.Stop()
}

// baseURL returns the URL of the server to use.
func baseURL(tb testing.TB) string {
	tb.Helper()
	if url := os.Getenv(PostgresEnv); url != "" {
		return url
	}
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if !shared.mainRuns {
		tb.Fatal("nobody would stop the server: add func TestMain(m *testing.M) { servers.Main(m) } to this package")
	}
	if !shared.tried {
		shared.tried = true
		shared.server, shared.err = StartPostgres(context.Background())
	}
	if shared.err != nil {
		unavailable(tb, shared.err)
	}
	return shared.server.URL("postgres")
}

// unavailable ends a test that has no server. Only a server that is not installed is a reason to skip, and only outside CI.
func unavailable(tb testing.TB, err error) {
	tb.Helper()
	if errors.Is(err, exec.ErrNotFound) && os.Getenv("CI") == "" {
		tb.Skip(err)
	}
	tb.Fatal(err)
}
