package zklock

import (
	"context"
	"crypto/rand"
	"errors"
	mathrand "math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/fencerow/fencerow/driver"
	"github.com/fencerow/fencerow/internal/integration/servers"
	"github.com/fencerow/fencerow/lock/zklock"
)

func TestMain(m *testing.M) { servers.Main(m) }

type silent struct{}

func (silent) Printf(string, ...any) {}

func req(resource string, ttl time.Duration) driver.Request {
	return driver.Request{Resource: resource, GrantID: rand.Text(), Holder: "t", TTL: ttl}
}

func TestCancelledEnqueueLeavesNothing(t *testing.T) {
	addr := servers.ZooKeeper(t)
	root := "/check-" + rand.Text()
	svc, err := zklock.Open(context.Background(), []string{addr}, &zklock.Options{Root: root, SessionTimeout: 5 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer svc.Close()
	look, _, err := zk.Connect([]string{addr}, 5*time.Second, zk.WithLogger(silent{}), zk.WithLogInfo(false))
	if err != nil {
		t.Fatal(err)
	}
	defer look.Close()
	if _, err := svc.Acquire(context.Background(), req("a/b", time.Minute)); err != nil {
		t.Fatal(err)
	}
	const n = 3000
	for range n {
		ctx, cancel := context.WithCancel(context.Background())
		time.AfterFunc(time.Duration(mathrand.Int64N(int64(1500*time.Microsecond))), cancel)
		_, _ = svc.AcquireQueued(ctx, req("a/b", time.Minute))
		cancel()
	}
	time.Sleep(3 * time.Second) // for what is deleted later
	names, _, err := look.Children(root + "/locks/r:a%2Fb/queue")
	t.Logf("%d nodes left in the queue after %d cancelled waits, %v", len(names), n, err)
	if len(names) > 0 || err != nil {
		t.Errorf("left: %v, %v", names[:min(3, len(names))], err)
	}
}

func TestRenewalAtTheEnd(t *testing.T) {
	addr := servers.ZooKeeper(t)
	svc, err := zklock.Open(context.Background(), []string{addr}, &zklock.Options{Root: "/check-" + rand.Text(), SessionTimeout: 2 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer svc.Close()
	ttl := svc.Info().MinTTL
	var wg sync.WaitGroup
	var mu sync.Mutex
	ok, refused, broken := 0, 0, 0
	for range 300 {
		wg.Go(func() {
			for range 5 {
				g, err := svc.Acquire(context.Background(), req("r/"+rand.Text(), ttl))
				if err != nil {
					continue
				}
				time.Sleep(ttl + time.Duration(mathrand.Int64N(int64(4*time.Millisecond))) - 2*time.Millisecond)
				err = svc.Renew(context.Background(), g, time.Minute)
				again := error(nil)
				if err == nil {
					time.Sleep(200 * time.Millisecond)
					again = svc.Renew(context.Background(), g, time.Minute)
				}
				mu.Lock()
				switch {
				case err != nil:
					refused++
				case errors.Is(again, driver.ErrNotCurrent):
					broken++
				default:
					ok++
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	t.Logf("renewed and kept %d, refused %d, renewed for a minute and gone 200 ms later %d", ok, refused, broken)
	if ok == 0 {
		t.Error("no renewal succeeded, so nothing was shown")
	}
	if broken > 0 {
		t.Errorf("%d renewals succeeded and the lease was deleted all the same", broken)
	}
}
