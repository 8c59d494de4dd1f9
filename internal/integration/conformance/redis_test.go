package conformance

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"

	"github.com/fencerow/fencerow/driver"
	"github.com/fencerow/fencerow/fencerowtest"
	"github.com/fencerow/fencerow/internal/integration/servers"
	"github.com/fencerow/fencerow/internal/integration/wire"
	"github.com/fencerow/fencerow/lock/redislock"
	"github.com/fencerow/fencerow/redisconn"
	goredisconn "github.com/fencerow/fencerow/redisconn/goredis"
	rueidisconn "github.com/fencerow/fencerow/redisconn/rueidis"
)

// dialRedis opens a client as another process would.
type dialRedis func(endpoints ...string) (redisconn.Conn, io.Closer, error)

func dialGoRedis(endpoints ...string) (redisconn.Conn, io.Closer, error) {
	client := goredis.NewClient(&goredis.Options{Addr: endpoints[0], ContextTimeoutEnabled: true})
	return goredisconn.New(client), client, nil
}

func dialGoRedisSentinel(endpoints ...string) (redisconn.Conn, io.Closer, error) {
	client := goredis.NewFailoverClient(&goredis.FailoverOptions{MasterName: servers.SentinelMaster, SentinelAddrs: endpoints, ContextTimeoutEnabled: true})
	return goredisconn.New(client), client, nil
}

func dialGoRedisCluster(endpoints ...string) (redisconn.Conn, io.Closer, error) {
	client := goredis.NewClusterClient(&goredis.ClusterOptions{Addrs: endpoints, ContextTimeoutEnabled: true})
	return goredisconn.New(client), client, nil
}

func dialRueidis(endpoints ...string) (redisconn.Conn, io.Closer, error) {
	return newRueidis(rueidis.ClientOption{InitAddress: endpoints, DisableCache: true})
}

func dialRueidisSentinel(endpoints ...string) (redisconn.Conn, io.Closer, error) {
	return newRueidis(rueidis.ClientOption{InitAddress: endpoints, DisableCache: true,
		Sentinel: rueidis.SentinelOption{MasterSet: servers.SentinelMaster}})
}

func newRueidis(opts rueidis.ClientOption) (redisconn.Conn, io.Closer, error) {
	client, err := rueidis.NewClient(opts)
	if err != nil {
		return nil, nil, err
	}
	return rueidisconn.New(client), closer(client.Close), nil
}

type closer func()

func (c closer) Close() error { c(); return nil }

// redisHandle is the service on a client of its own, which ends with it.
type redisHandle struct {
	*redislock.Service
	client io.Closer
}

func (h redisHandle) Close() error { return errors.Join(h.Service.Close(), h.client.Close()) }

func redisHarness(t *testing.T, name string, dial dialRedis, opts redislock.Options, endpoints ...string) fencerowtest.LockHarness {
	opts.Namespace = strings.ReplaceAll("conformance-"+t.Name(), "/", "-")
	open := func(ctx context.Context, endpoints ...string) (driver.LockService, error) {
		conn, client, err := dial(endpoints...)
		if err != nil {
			return nil, err
		}
		svc, err := redislock.Open(ctx, conn, &opts)
		if err != nil {
			return nil, errors.Join(err, client.Close())
		}
		return redisHandle{svc, client}, nil
	}
	return fencerowtest.LockHarness{
		Name: name,
		Open: func(ctx context.Context) (driver.LockService, error) { return open(ctx, endpoints...) },
		TTL:  300 * time.Millisecond,
		OpenWired: func(ctx context.Context) (driver.LockService, fencerowtest.Wire, error) {
			w := wire.Start(t, endpoints[0])
			svc, err := open(ctx, w.Addr())
			return svc, w, err
		},
	}
}

func TestRedisLocksConform(t *testing.T) {
	t.Parallel()
	for name, dial := range map[string]dialRedis{"go-redis": dialGoRedis, "rueidis": dialRueidis} {
		t.Run(name, func(t *testing.T) {
			fencerowtest.TestLocks(t, redisHarness(t, "redislock over "+name, dial, redislock.Options{}, servers.Redis(t)))
		})
	}
}

// A server that syncs each write to disk forgets nothing when it is killed.
func TestRedisLocksConformAcrossARestart(t *testing.T) {
	t.Parallel()
	server := servers.Start(t, func(ctx context.Context) (*servers.RedisServer, error) { return servers.StartRedis(ctx) })
	h := redisHarness(t, "redislock on a server of its own", dialGoRedis, redislock.Options{}, server.Endpoint)
	h.Restart = func(ctx context.Context) error { return errors.Join(server.Kill(), server.Start(ctx)) }
	fencerowtest.TestLocks(t, h)
}

func TestRedisClusterLocksConform(t *testing.T) {
	t.Parallel()
	cluster := servers.Start(t, servers.StartRedisCluster)
	for name, dial := range map[string]dialRedis{"go-redis": dialGoRedisCluster, "rueidis": dialRueidis} {
		t.Run(name, func(t *testing.T) {
			h := redisHarness(t, "redislock on a cluster over "+name, dial, redislock.Options{}, cluster.Endpoints()...)
			h.OpenWired = nil // the client goes to the addresses that the cluster tells it
			fencerowtest.TestLocks(t, h)
		})
	}
}

// With a replica that must confirm each grant, the fail-over to that replica forgets none.
func TestRedisSentinelLocksConform(t *testing.T) {
	t.Parallel()
	for name, dial := range map[string]dialRedis{"go-redis": dialGoRedisSentinel, "rueidis": dialRueidisSentinel} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// They need not sync to disk: what one has forgotten the other has.
			master := servers.Start(t, func(ctx context.Context) (*servers.RedisServer, error) {
				return servers.StartRedis(ctx, "--appendonly", "no")
			})
			replica := servers.Start(t, func(ctx context.Context) (*servers.RedisServer, error) {
				_, port, _ := strings.Cut(master.Endpoint, ":")
				return servers.StartRedis(ctx, "--appendonly", "no", "--replicaof", "127.0.0.1 "+port)
			})
			if err := replica.WaitRole(t.Context(), "slave"); err != nil {
				t.Fatal(err)
			}
			sentinels := servers.Start(t, func(ctx context.Context) (*servers.RedisSentinels, error) {
				return servers.StartRedisSentinels(ctx, master)
			})
			opts := redislock.Options{Replicas: 1, ReplicaTimeout: 2 * time.Second}
			h := redisHarness(t, "redislock behind Sentinel over "+name, dial, opts, sentinels.Endpoints...)
			h.OpenWired = nil // the client goes to the addresses that Sentinel tells it
			h.Patience = 15 * time.Second
			h.Failover = func(ctx context.Context) error {
				if err := master.Kill(); err != nil {
					return err
				}
				if err := replica.WaitRole(ctx, "master"); err != nil {
					return err
				}
				// The old one comes back as the replica of the new one, which waits for it.
				if err := master.Start(ctx); err != nil {
					return err
				}
				return servers.WaitPair(ctx, master, replica)
			}
			fencerowtest.TestLocks(t, h)
		})
	}
}
