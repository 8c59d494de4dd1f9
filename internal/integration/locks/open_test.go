// Package locks proves of the lock services what the conformance kit cannot provoke: what a server sees, what a fail-over, a restore
// and a frozen process do, and what an operator is told.
package locks

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/fencerow/fencerow"
	"github.com/fencerow/fencerow/driver"
	"github.com/fencerow/fencerow/internal/integration/servers"
	"github.com/fencerow/fencerow/lock/etcdlock"
	"github.com/fencerow/fencerow/lock/redislock"
	"github.com/fencerow/fencerow/lock/sqllock"
	"github.com/fencerow/fencerow/lock/zklock"
	"github.com/fencerow/fencerow/redisconn/goredis"
)

// opener opens a lock service at an address, in this process or in a child.
type opener func(ctx context.Context, address, namespace string) (driver.LockService, error)

var openers = map[string]opener{
	"etcd":      openEtcd,
	"zookeeper": openZooKeeper,
	"redis":     openRedis,
	"postgres": func(ctx context.Context, address, _ string) (driver.LockService, error) {
		return openSQL(ctx, "pgx", address, sqllock.Postgres)
	},
	"mariadb": func(ctx context.Context, address, _ string) (driver.LockService, error) {
		return openSQL(ctx, "mysql", address, sqllock.MySQL)
	},
	"sqlite": func(ctx context.Context, address, _ string) (driver.LockService, error) {
		return openSQL(ctx, "sqlite", address, sqllock.SQLite)
	},
}

// addresses are servers that the tests share, and databases of their own.
var addresses = map[string]func(*testing.T) string{
	"etcd":      func(t *testing.T) string { return servers.Etcd(t) },
	"zookeeper": func(t *testing.T) string { return servers.ZooKeeper(t) },
	"redis":     func(t *testing.T) string { return servers.Redis(t) },
	"postgres":  func(t *testing.T) string { return servers.PostgresURL(t) },
	"mariadb":   func(t *testing.T) string { return servers.MariaDBDSN(t) },
	"sqlite":    sqliteDSN,
}

func sqliteDSN(t *testing.T) string {
	return "file:" + t.TempDir() + "/locks.db?_txlock=immediate&_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)"
}

func openEtcd(ctx context.Context, address, namespace string) (driver.LockService, error) {
	client, err := newEtcdClient(address)
	if err != nil {
		return nil, err
	}
	svc, err := etcdlock.Open(ctx, client, &etcdlock.Options{Namespace: namespace})
	if err != nil {
		return nil, err
	}
	return closing{svc, func() { _ = client.Close() }}, nil
}

func newEtcdClient(endpoints ...string) (*clientv3.Client, error) {
	return clientv3.New(clientv3.Config{Endpoints: endpoints, Logger: zap.NewNop()})
}

// zkTimeout is the session timeout of the tests.
const zkTimeout = 1500 * time.Millisecond

func openZooKeeper(ctx context.Context, address, namespace string) (driver.LockService, error) {
	svc, err := zklock.Open(ctx, []string{address}, &zklock.Options{Root: "/" + namespace, SessionTimeout: zkTimeout})
	if err != nil {
		return nil, err
	}
	return svc, nil
}

func openRedis(ctx context.Context, address, namespace string) (driver.LockService, error) {
	client := newRedisClient(address)
	svc, err := redislock.Open(ctx, goredis.New(client), &redislock.Options{Namespace: namespace})
	if err != nil {
		return nil, err
	}
	return closing{svc, func() { _ = client.Close() }}, nil
}

func newRedisClient(address string) *redis.Client {
	return redis.NewClient(&redis.Options{Addr: address, ContextTimeoutEnabled: true})
}

func openSQL(ctx context.Context, driverName, dsn string, dialect sqllock.Dialect) (driver.LockService, error) {
	db, err := sql.Open(driverName, dsn)
	if err != nil {
		return nil, err
	}
	svc, err := sqllock.Open(ctx, db, dialect)
	if err != nil {
		return nil, err
	}
	return closing{svc, func() { _ = db.Close() }}, nil
}

// full is what all of them can do.
type full interface {
	driver.LockService
	driver.Seeder
	driver.Retirer
	driver.Inspector
}

// closing closes the client with the service. It hides the optional interfaces, but for those of full.
type closing struct {
	full
	closeClient func()
}

func (c closing) Close() error {
	err := c.full.Close()
	c.closeClient()
	return err
}

// open opens a service that is closed after the test.
func open(t *testing.T, kind, address, namespace string) driver.LockService {
	t.Helper()
	svc, err := openers[kind](t.Context(), address, namespace)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = svc.Close() })
	return svc
}

func newLocker(t *testing.T, svc driver.LockService, opts fencerow.Options) *fencerow.Locker {
	t.Helper()
	opts.AllowAsync = true
	lk, err := fencerow.New(svc, &opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = lk.Close() })
	return lk
}

func acquire(t *testing.T, lk *fencerow.Locker, resource fencerow.Resource) *fencerow.Lease {
	t.Helper()
	lease, err := lk.Acquire(t.Context(), resource)
	if err != nil {
		t.Fatal(err)
	}
	return lease
}

func release(t *testing.T, lease *fencerow.Lease) {
	t.Helper()
	if err := lease.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
}

var errNotYet = errors.New("not yet")

// openQueued opens etcdlock as it is, with its queue.
func openQueued(t *testing.T, address, namespace string) *etcdlock.Service {
	t.Helper()
	client, err := newEtcdClient(address)
	if err != nil {
		t.Fatal(err)
	}
	svc, err := etcdlock.Open(t.Context(), client, &etcdlock.Options{Namespace: namespace})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return svc
}

// eventually repeats what must come true.
func eventually(t *testing.T, what string, check func() error) {
	t.Helper()
	var err error
	for limit := time.Now().Add(30 * time.Second); time.Now().Before(limit); time.Sleep(20 * time.Millisecond) {
		if err = check(); err == nil {
			return
		}
	}
	t.Fatalf("%s: %v", what, err)
}

func TestMain(m *testing.M) {
	redis.SetLogger(silent{}) // it reports each connection that a test breaks
	actAsHolder()
	servers.Main(m)
}

type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}
