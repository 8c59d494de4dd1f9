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

// The environment variables with the address of a server to use.
const (
	PostgresEnv  = "FENCEROW_POSTGRES_URL" // its user must be allowed to create databases
	MariaDBEnv   = "FENCEROW_MARIADB_DSN"  // for the driver "mysql", without a database; its user must be allowed to create some
	EtcdEnv      = "FENCEROW_ETCD"         // host:port
	ZooKeeperEnv = "FENCEROW_ZOOKEEPER"    // host:port
	RedisEnv     = "FENCEROW_REDIS"        // host:port
	S3Env        = "FENCEROW_S3"           // URL of a versitygw with the credentials of package objectstore
)

// Server is a running server.
type Server interface {
	Address() string
	Stop() error
}

// Kind is a server that tests share.
type Kind struct {
	Env   string
	Start func(context.Context) (Server, error)
}

// Kinds are all servers that tests share.
var Kinds = []Kind{
	{PostgresEnv, func(ctx context.Context) (Server, error) { return asServer(StartPostgres(ctx)) }},
	{MariaDBEnv, func(ctx context.Context) (Server, error) { return asServer(StartMariaDB(ctx)) }},
	{EtcdEnv, func(ctx context.Context) (Server, error) { return asServer(StartEtcd(ctx, EtcdOptions{})) }},
	{ZooKeeperEnv, func(ctx context.Context) (Server, error) { return asServer(StartZooKeeper(ctx, 1)) }},
	{RedisEnv, func(ctx context.Context) (Server, error) { return asServer(StartRedis(ctx)) }},
	{S3Env, func(ctx context.Context) (Server, error) { return asServer(StartS3(ctx)) }},
}

// asServer keeps a nil pointer from becoming a Server that is not nil.
func asServer[S Server](s S, err error) (Server, error) {
	if err != nil {
		return nil, err
	}
	return s, nil
}

// shared are the servers of this test binary. The first test that asks for one starts it; Main stops them.
var shared struct {
	mu       sync.Mutex
	mainRuns bool
	started  map[string]*started // by Env
}

type started struct {
	once   sync.Once
	server Server
	err    error
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
	var errs []error
	for _, s := range shared.started {
		if s.server != nil {
			errs = append(errs, s.server.Stop())
		}
	}
	shared.started = nil
	return errors.Join(errs...)
}

// address returns the address of the server of the kind to use.
func address(tb testing.TB, env string) string {
	tb.Helper()
	if given := os.Getenv(env); given != "" {
		return given
	}
	s := startedBy(tb, env)
	s.once.Do(func() {
		for _, kind := range Kinds {
			if kind.Env == env {
				s.server, s.err = kind.Start(context.Background())
			}
		}
	})
	if s.err != nil {
		Unavailable(tb, s.err)
	}
	return s.server.Address()
}

func startedBy(tb testing.TB, env string) *started {
	tb.Helper()
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if !shared.mainRuns {
		tb.Fatal("nobody would stop the server: add func TestMain(m *testing.M) { servers.Main(m) } to this package")
	}
	if shared.started == nil {
		shared.started = map[string]*started{}
	}
	if shared.started[env] == nil {
		shared.started[env] = &started{}
	}
	return shared.started[env]
}

// Etcd returns the endpoint of an etcd server. Tests keep to keys that no other test uses.
func Etcd(tb testing.TB) string { tb.Helper(); return address(tb, EtcdEnv) }

// ZooKeeper returns the endpoint of a ZooKeeper server. Tests keep to nodes that no other test uses.
func ZooKeeper(tb testing.TB) string { tb.Helper(); return address(tb, ZooKeeperEnv) }

// Redis returns the endpoint of a Redis server. Tests keep to keys that no other test uses.
func Redis(tb testing.TB) string { tb.Helper(); return address(tb, RedisEnv) }

// Unavailable ends a test that has no server. Only a server that is not installed is a reason to skip, and only outside CI.
func Unavailable(tb testing.TB, err error) {
	tb.Helper()
	if errors.Is(err, exec.ErrNotFound) && os.Getenv("CI") == "" {
		tb.Skip(err)
	}
	tb.Fatal(err)
}

// Start starts a server of the test's own, which is stopped when the test ends.
func Start[S interface{ Stop() error }](tb testing.TB, start func(context.Context) (S, error)) S {
	tb.Helper()
	s, err := start(context.Background())
	if err != nil {
		Unavailable(tb, err)
	}
	tb.Cleanup(func() {
		if err := s.Stop(); err != nil {
			tb.Error(err)
		}
	})
	return s
}
