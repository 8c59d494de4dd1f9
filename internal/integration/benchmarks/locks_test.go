package benchmarks

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/redis/go-redis/v9"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	"go.uber.org/zap"

	"github.com/fencerow/fencerow"
	"github.com/fencerow/fencerow/driver"
	"github.com/fencerow/fencerow/internal/integration/servers"
	"github.com/fencerow/fencerow/lock/etcdlock"
	"github.com/fencerow/fencerow/lock/redislock"
	"github.com/fencerow/fencerow/lock/zklock"
	"github.com/fencerow/fencerow/redisconn/goredis"
)

func newEtcd(b *testing.B) *clientv3.Client {
	b.Helper()
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{servers.Etcd(b)}, Logger: zap.NewNop()})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = client.Close() })
	return client
}

// pairOf acquires and releases under ever new grant ids.
func pairOf(b *testing.B, svc driver.LockService, resource string) func() error {
	n := 0
	return func() error {
		n++
		g, err := svc.Acquire(b.Context(), driver.Request{Resource: resource, GrantID: fmt.Sprintf("g%d", n), Holder: "bench", TTL: time.Minute})
		if err != nil {
			return err
		}
		return svc.Release(b.Context(), g)
	}
}

// An acquire and a release beside the two requests that the client must send at least: a conditional put under a lease and a delete.
func BenchmarkEtcdAcquireRelease(b *testing.B) {
	client := newEtcd(b)
	svc, err := etcdlock.Open(b.Context(), client, &etcdlock.Options{Namespace: "bench"})
	if err != nil {
		b.Fatal(err)
	}
	defer svc.Close()
	lease, err := client.Grant(b.Context(), 600)
	if err != nil {
		b.Fatal(err)
	}
	compare(b, "raw", func() error {
		_, err := client.Txn(b.Context()).
			If(clientv3.Compare(clientv3.CreateRevision("bench-raw"), "=", 0)).
			Then(clientv3.OpPut("bench-raw", "", clientv3.WithLease(lease.ID))).
			Commit()
		if err == nil {
			_, err = client.Delete(b.Context(), "bench-raw")
		}
		return err
	}, "etcdlock", pairOf(b, svc, "bench/solo"))
}

// The same beside the recipe of etcd's own client, with a session that is shared.
func BenchmarkEtcdAcquireReleaseBesideMutex(b *testing.B) {
	client := newEtcd(b)
	svc, err := etcdlock.Open(b.Context(), client, &etcdlock.Options{Namespace: "bench"})
	if err != nil {
		b.Fatal(err)
	}
	defer svc.Close()
	session, err := concurrency.NewSession(client)
	if err != nil {
		b.Fatal(err)
	}
	defer session.Close()
	mutex := concurrency.NewMutex(session, "bench-mutex")
	compare(b, "mutex", func() error {
		if err := mutex.Lock(b.Context()); err != nil {
			return err
		}
		return mutex.Unlock(b.Context())
	}, "etcdlock", pairOf(b, svc, "bench/solo"))
}

// The hand-over between two contenders, from the release of one to the grant of the other who waits, beside that of etcd's own
// Mutex. Each hold lasts 20 ms, so that the waiter waits.
func BenchmarkEtcdHandOverBesideMutex(b *testing.B) {
	var mutexes [2]*concurrency.Mutex
	var lockers [2]*fencerow.Locker
	for i := range 2 {
		client := newEtcd(b)
		session, err := concurrency.NewSession(client)
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = session.Close() })
		mutexes[i] = concurrency.NewMutex(session, "bench-hand-over")
		svc, err := etcdlock.Open(b.Context(), client, &etcdlock.Options{Namespace: "bench"})
		if err != nil {
			b.Fatal(err)
		}
		if lockers[i], err = fencerow.New(svc, nil); err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = lockers[i].Close() })
	}
	ctx := context.Background()
	handOver(b,
		"mutex", func(i int) (func() error, error) {
			return func() error { return mutexes[i].Unlock(ctx) }, mutexes[i].Lock(ctx)
		},
		"etcdlock", func(i int) (func() error, error) {
			lease, err := lockers[i].Acquire(ctx, "bench/hand-over")
			return func() error { return lease.Release(ctx) }, err
		})
}

// handOver lets two contenders take turns and compares the times from the release to the next grant.
func handOver(b *testing.B, theirName string, theirs func(i int) (unlock func() error, err error), ourName string, ours func(i int) (unlock func() error, err error)) {
	b.Helper()
	turns := func(lock func(int) (func() error, error)) func() error {
		holder := 0
		unlock, err := lock(holder)
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = unlock() })
		return func() error {
			type granted struct {
				unlock func() error
				err    error
			}
			next := make(chan granted, 1)
			holder = 1 - holder
			go func(i int) {
				unlock, err := lock(i)
				next <- granted{unlock, err}
			}(holder)
			time.Sleep(20 * time.Millisecond)
			begin = time.Now()
			if err := unlock(); err != nil {
				return err
			}
			g := <-next
			unlock = g.unlock
			return g.err
		}
	}
	compare(b, theirName, turns(theirs), ourName, turns(ours))
}

// begin is when the latest release began. A comparison that sets it is timed from there.
var begin time.Time

// The raw pair is what a program without tokens sends: SET NX PX, and a script that deletes the key if it is the caller's.
func BenchmarkRedisAcquireRelease(b *testing.B) {
	client := redis.NewClient(&redis.Options{Addr: servers.Redis(b), ContextTimeoutEnabled: true})
	defer client.Close()
	svc, err := redislock.Open(b.Context(), goredis.New(client), &redislock.Options{Namespace: "bench"})
	if err != nil {
		b.Fatal(err)
	}
	defer svc.Close()
	release := redis.NewScript(`if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) end return 0`)
	compare(b, "raw", func() error {
		if err := client.SetNX(b.Context(), "bench-raw", "me", time.Minute).Err(); err != nil {
			return err
		}
		return release.Run(b.Context(), client, []string{"bench-raw"}, "me").Err()
	}, "redislock", pairOf(b, svc, "bench/solo"))
}

func BenchmarkZooKeeperAcquireRelease(b *testing.B) {
	endpoint := servers.ZooKeeper(b)
	conn, _, err := zk.Connect([]string{endpoint}, time.Minute, zk.WithLogInfo(false))
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close()
	svc, err := zklock.Open(b.Context(), []string{endpoint}, &zklock.Options{Root: "/bench"})
	if err != nil {
		b.Fatal(err)
	}
	defer svc.Close()
	compare(b, "raw", func() error {
		path, err := conn.Create("/bench-raw", nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
		if err != nil {
			return err
		}
		return conn.Delete(path, -1)
	}, "zklock", pairOf(b, svc, "bench/solo"))
}
