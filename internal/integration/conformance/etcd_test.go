package conformance

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/fencerow/fencerow/driver"
	"github.com/fencerow/fencerow/fencerowtest"
	"github.com/fencerow/fencerow/internal/integration/servers"
	"github.com/fencerow/fencerow/internal/integration/wire"
	"github.com/fencerow/fencerow/lock/etcdlock"
)

func TestEtcdLocksConform(t *testing.T) {
	t.Parallel()
	fencerowtest.TestLocks(t, etcdHarness(t, "etcdlock on one member", servers.Etcd(t)))
}

// etcdHarness keeps the leases at twice the shortest that the servers grant.
func etcdHarness(t *testing.T, name string, endpoints ...string) fencerowtest.LockHarness {
	namespace := "conformance-" + t.Name()
	open := func(ctx context.Context, endpoints ...string) (driver.LockService, error) {
		client, err := newEtcdClient(endpoints...)
		if err != nil {
			return nil, err
		}
		leases := &recordedLeases{Lease: client.Lease}
		client.Lease = leases
		svc, err := etcdlock.Open(ctx, client, &etcdlock.Options{Namespace: namespace})
		if err != nil {
			return nil, errors.Join(err, client.Close())
		}
		return etcdHandle{svc, client, leases}, nil
	}
	return fencerowtest.LockHarness{
		Name: name,
		Open: func(ctx context.Context) (driver.LockService, error) { return open(ctx, endpoints...) },
		TTL:  2 * time.Second,
		OpenWired: func(ctx context.Context) (driver.LockService, fencerowtest.Wire, error) {
			w := wire.Start(t, endpoints[0])
			svc, err := open(ctx, w.Addr())
			return svc, w, err
		},
		EndSession: func(ctx context.Context, svc driver.LockService) error { return svc.(etcdHandle).leases.revokeAll(ctx) },
	}
}

func newEtcdClient(endpoints ...string) (*clientv3.Client, error) {
	return clientv3.New(clientv3.Config{Endpoints: endpoints, Logger: zap.NewNop()})
}

// etcdHandle is the service as another process would open it: on a client of its own, which ends with it.
type etcdHandle struct {
	*etcdlock.Service
	client *clientv3.Client
	leases *recordedLeases
}

func (h etcdHandle) Close() error { return errors.Join(h.Service.Close(), h.client.Close()) }

// recordedLeases knows the leases that a client was granted, so that a test can end them as etcd does when it has not heard from
// the client for long.
type recordedLeases struct {
	clientv3.Lease
	mu  sync.Mutex
	ids []clientv3.LeaseID
}

func (l *recordedLeases) Grant(ctx context.Context, ttl int64) (*clientv3.LeaseGrantResponse, error) {
	granted, err := l.Lease.Grant(ctx, ttl)
	if err == nil {
		l.mu.Lock()
		l.ids = append(l.ids, granted.ID)
		l.mu.Unlock()
	}
	return granted, err
}

func (l *recordedLeases) revokeAll(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, id := range l.ids {
		if _, err := l.Revoke(ctx, id); err != nil && !errors.Is(err, rpctypes.ErrLeaseNotFound) {
			return err
		}
	}
	l.ids = nil
	return nil
}

func TestEtcdOfThreeMembersConforms(t *testing.T) {
	t.Parallel()
	cluster := servers.Start(t, func(ctx context.Context) (*servers.EtcdServer, error) {
		return servers.StartEtcd(ctx, servers.EtcdOptions{Members: 3})
	})
	h := etcdHarness(t, "etcdlock on three members", cluster.Endpoints()...)
	h.Failover = func(ctx context.Context) error { return killEtcdLeader(ctx, cluster) }
	h.Restart = func(ctx context.Context) error { return restartEtcd(ctx, cluster) }
	fencerowtest.TestLocks(t, h)
}

// killEtcdLeader kills the leader, waits until another member leads, and starts the dead one again.
func killEtcdLeader(ctx context.Context, cluster *servers.EtcdServer) error {
	leader, err := etcdLeader(ctx, cluster, nil)
	if err != nil {
		return err
	}
	if err := leader.Kill(); err != nil {
		return err
	}
	if _, err := etcdLeader(ctx, cluster, leader); err != nil {
		return err
	}
	return leader.Start(ctx)
}

// etcdLeader returns the member that leads, once there is one. It does not ask the dead one.
func etcdLeader(ctx context.Context, cluster *servers.EtcdServer, dead *servers.EtcdMember) (*servers.EtcdMember, error) {
	for {
		for _, m := range cluster.Members {
			if m == dead {
				continue
			}
			client, err := newEtcdClient(m.Endpoint)
			if err != nil {
				return nil, err
			}
			short, cancel := context.WithTimeout(ctx, time.Second)
			state, err := client.Status(short, m.Endpoint)
			cancel()
			_ = client.Close()
			if err == nil && state.Leader == state.Header.MemberId {
				return m, nil
			}
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// restartEtcd stops all members and starts them again.
func restartEtcd(ctx context.Context, cluster *servers.EtcdServer) error {
	for _, m := range cluster.Members {
		if err := m.Node.Stop(); err != nil {
			return err
		}
	}
	return cluster.Start(ctx)
}
