package conformance

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/fencerow/fencerow/driver"
	"github.com/fencerow/fencerow/fencerowtest"
	"github.com/fencerow/fencerow/internal/integration/servers"
	"github.com/fencerow/fencerow/internal/integration/wire"
	"github.com/fencerow/fencerow/lock/zklock"
)

// zkSession is the session timeout of the kit's handles, and their TTL twice that.
const zkSession = 2500 * time.Millisecond

func TestZooKeeperLocksConform(t *testing.T) {
	t.Parallel()
	fencerowtest.TestLocks(t, zkHarness(t, "zklock on one server", servers.ZooKeeper(t)))
}

// zkHandle is the service on a wire of its own.
type zkHandle struct {
	*zklock.Service
	wires *zkWires
}

func (h zkHandle) Close() error { return errors.Join(h.Service.Close(), h.wires.Close()) }

func zkHarness(t *testing.T, name string, endpoints ...string) fencerowtest.LockHarness {
	open := func(ctx context.Context) (zkHandle, error) {
		wires := &zkWires{byAddress: map[string]*wire.Wire{}}
		for _, endpoint := range endpoints {
			w, err := wire.New(endpoint)
			if err != nil {
				return zkHandle{}, err
			}
			wires.byAddress[endpoint] = w
		}
		svc, err := zklock.Open(ctx, endpoints, &zklock.Options{
			Root:           "/conformance/" + t.Name(),
			SessionTimeout: zkSession,
			Dialer: func(network, address string, timeout time.Duration) (net.Conn, error) {
				return net.DialTimeout(network, wires.byAddress[address].Addr(), timeout)
			},
		})
		if err != nil {
			return zkHandle{}, errors.Join(err, wires.Close())
		}
		return zkHandle{svc, wires}, nil
	}
	return fencerowtest.LockHarness{
		Name: name,
		Open: func(ctx context.Context) (driver.LockService, error) { return open(ctx) },
		TTL:  2 * zkSession,
		OpenWired: func(ctx context.Context) (driver.LockService, fencerowtest.Wire, error) {
			h, err := open(ctx)
			return h, h.wires, err
		},
		// The ensemble ends a session when it has not heard from it for the timeout, within a tick.
		EndSession: func(ctx context.Context, svc driver.LockService) error {
			wires := svc.(zkHandle).wires
			wires.Cut()
			defer wires.Restore()
			select {
			case <-time.After(zkSession + time.Second):
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		},
	}
}

// zkWires are the ways of one handle to all servers.
type zkWires struct{ byAddress map[string]*wire.Wire }

func (w *zkWires) each(do func(*wire.Wire)) {
	for _, one := range w.byAddress {
		do(one)
	}
}

func (w *zkWires) LoseReplies()  { w.each((*wire.Wire).LoseReplies) }
func (w *zkWires) HoldRequests() { w.each((*wire.Wire).HoldRequests) }
func (w *zkWires) Cut()          { w.each((*wire.Wire).Cut) }
func (w *zkWires) Restore()      { w.each((*wire.Wire).Restore) }

func (w *zkWires) Close() error {
	w.each(func(one *wire.Wire) { _ = one.Close() })
	return nil
}

func TestZooKeeperOfThreeServersConforms(t *testing.T) {
	t.Parallel()
	ensemble := servers.Start(t, func(ctx context.Context) (*servers.ZooKeeperServer, error) { return servers.StartZooKeeper(ctx, 3) })
	h := zkHarness(t, "zklock on three servers", ensemble.Endpoints()...)
	h.Failover = func(ctx context.Context) error {
		leader, err := zkLeader(ctx, ensemble, nil)
		if err == nil {
			err = leader.Kill()
		}
		if err == nil {
			_, err = zkLeader(ctx, ensemble, leader)
		}
		if err == nil {
			err = leader.Start(ctx)
		}
		return err
	}
	h.Restart = func(ctx context.Context) error {
		for _, m := range ensemble.Members {
			if err := m.Kill(); err != nil {
				return err
			}
		}
		return ensemble.Start(ctx)
	}
	h.Patience = 15 * time.Second
	fencerowtest.TestLocks(t, h)
}

// zkLeader returns the server that leads, once there is one that is not dead.
func zkLeader(ctx context.Context, ensemble *servers.ZooKeeperServer, dead *servers.ZooKeeperMember) (*servers.ZooKeeperMember, error) {
	for {
		for _, m := range ensemble.Members {
			if m == dead {
				continue
			}
			short, cancel := context.WithTimeout(ctx, time.Second)
			mode, err := m.Mode(short)
			cancel()
			if err == nil && mode == "leader" {
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
