package locks

import (
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/fencerow/fencerow"
	"github.com/fencerow/fencerow/internal/integration/servers"
	"github.com/fencerow/fencerow/internal/integration/wire"
)

// A compaction beyond the revision that a waiter's watch has reached ends the watch when the connection is made anew. The waiter
// looks again, is granted in its turn, and leaves no key behind.
func TestWaiterSurvivesCompaction(t *testing.T) {
	t.Parallel()
	address := servers.Etcd(t)
	w := wire.Start(t, address)
	holder := newLocker(t, open(t, "etcd", address, "compaction"), fencerow.Options{TTL: time.Minute})
	waiter := newLocker(t, openQueued(t, w.Addr(), "compaction"), fencerow.Options{TTL: time.Minute})
	client, err := newEtcdClient(address)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for range 3 {
		lease := acquire(t, holder, account)
		granted := make(chan error, 1)
		go func() {
			next, err := waiter.Acquire(t.Context(), account)
			if err == nil {
				err = next.Release(t.Context())
			}
			granted <- err
		}()
		queue := func() int64 {
			resp, err := client.Get(t.Context(), "compaction/queue/", clientv3.WithPrefix(), clientv3.WithCountOnly())
			if err != nil {
				t.Fatal(err)
			}
			return resp.Count
		}
		eventually(t, "the waiter is in the queue", func() error {
			if queue() == 2 {
				return nil
			}
			return errNotYet
		})
		w.Cut()
		release(t, lease)
		for range 3 {
			if _, err := client.Put(t.Context(), "compaction-test", time.Now().String()); err != nil {
				t.Fatal(err)
			}
		}
		now, err := client.Get(t.Context(), "compaction-test")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := client.Compact(t.Context(), now.Header.Revision, clientv3.WithCompactPhysical()); err != nil {
			t.Fatal(err)
		}
		w.Restore()
		select {
		case err := <-granted:
			if err != nil {
				t.Fatal(err)
			}
		case <-time.After(30 * time.Second):
			t.Fatal("the waiter is stuck")
		}
		if left := queue(); left != 0 {
			t.Errorf("%d keys are left in the queue", left)
		}
	}
}
