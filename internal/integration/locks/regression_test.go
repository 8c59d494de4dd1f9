package locks

import (
	"context"
	"crypto/rand"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fencerow/fencerow"
	"github.com/fencerow/fencerow/driver"
	"github.com/fencerow/fencerow/fence/sqlfence"
	"github.com/fencerow/fencerow/highwater"
	"github.com/fencerow/fencerow/internal/integration/servers"
	"github.com/fencerow/fencerow/lock/redislock"
	"github.com/fencerow/fencerow/redisconn/goredis"
)

const account = fencerow.Resource("account/42")

// regressions notes what an Observer is told.
type regressions struct{ seen []int64 }

func (r *regressions) observer() *fencerow.Observer {
	return &fencerow.Observer{Regressed: func(_ context.Context, t fencerow.Token, mark int64) { r.seen = append(r.seen, t.Number(), mark) }}
}

// mustRefuseAndRepair takes a lease from a service that has lost state: it must be refused and told, and be possible after a repair.
func mustRefuseAndRepair(t *testing.T, lk *fencerow.Locker, told *regressions, mark int64) {
	t.Helper()
	_, err := lk.Acquire(t.Context(), account)
	var regressed *fencerow.RegressedError
	if !errors.Is(err, fencerow.ErrRegressed) || !errors.As(err, &regressed) || regressed.Mark != mark || regressed.Number > mark {
		t.Fatalf("a grant after lost state: %v, want a regression from %d", err, mark)
	}
	if len(told.seen) != 2 || told.seen[1] != mark {
		t.Errorf("the observer was told %v, want one regression from %d", told.seen, mark)
	}
	if err := lk.Repair(t.Context(), account); err != nil {
		t.Fatal(err)
	}
	lease := acquire(t, lk, account)
	if got := lease.Token().Number(); got <= mark {
		t.Errorf("number %d was granted after the repair, the mark is %d", got, mark)
	}
	release(t, lease)
}

// A snapshot of etcd that is restored takes the numbers back.
func TestRestoredEtcdIsRefusedAndRepaired(t *testing.T) {
	first := servers.Start(t, func(ctx context.Context) (*servers.EtcdServer, error) {
		return servers.StartEtcd(ctx, servers.EtcdOptions{})
	})
	marks := openMarks(t)
	lk := newLocker(t, open(t, "etcd", first.Address(), "restore"), fencerow.Options{TTL: 5 * time.Second, HighWater: marks})
	release(t, acquire(t, lk, account))

	dir := t.TempDir()
	etcdctl(t, "--endpoints", first.Address(), "snapshot", "save", filepath.Join(dir, "snapshot"))
	var mark int64
	for range 5 {
		lease := acquire(t, lk, account)
		mark = lease.Token().Number()
		release(t, lease)
	}
	etcdctl(t, "snapshot", "restore", filepath.Join(dir, "snapshot"), "--data-dir", filepath.Join(dir, "data"),
		"--name", "n0", "--initial-cluster", "n0=http://127.0.0.1:1", "--initial-advertise-peer-urls", "http://127.0.0.1:1")

	second := servers.Start(t, func(ctx context.Context) (*servers.EtcdServer, error) {
		return servers.StartEtcd(ctx, servers.EtcdOptions{Data: filepath.Join(dir, "data"), Args: []string{"--force-new-cluster"}})
	})
	var told regressions
	restored := open(t, "etcd", second.Address(), "restore")
	if restored.Info().Source != lk.Source() {
		t.Fatalf("the restored cluster is the source %s, before it was %s", restored.Info().Source, lk.Source())
	}
	after := newLocker(t, restored, fencerow.Options{TTL: 5 * time.Second, HighWater: marks, Observer: told.observer()})
	mustRefuseAndRepair(t, after, &told, mark)
}

func etcdctl(t *testing.T, args ...string) {
	t.Helper()
	cmd := exec.Command("etcdctl", args...)
	cmd.Env = append(os.Environ(), "ETCDCTL_API=3")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("etcdctl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

func openMarks(t *testing.T) fencerow.HighWater {
	t.Helper()
	marks, err := highwater.OpenFile(filepath.Join(t.TempDir(), "marks.json"))
	if err != nil {
		t.Fatal(err)
	}
	return marks
}

// A Redis that was emptied starts its counter again, below the mark.
func TestEmptiedRedisIsRefusedAndRepaired(t *testing.T) {
	server := servers.Start(t, func(ctx context.Context) (*servers.RedisServer, error) { return servers.StartRedis(ctx) })
	svc := open(t, "redis", server.Address(), "emptied")
	if err := svc.(driver.Seeder).Seed(t.Context(), string(account), 1<<40); err != nil {
		t.Fatal(err)
	}
	var told regressions
	lk := newLocker(t, svc, fencerow.Options{TTL: 5 * time.Second, HighWater: openMarks(t), Observer: told.observer()})
	lease := acquire(t, lk, account)
	mark := lease.Token().Number()
	release(t, lease)
	if answer, err := server.Command(t.Context(), "FLUSHALL"); err != nil || answer != "+OK" {
		t.Fatal(answer, err)
	}
	mustRefuseAndRepair(t, lk, &told, mark)
}

// redisPair is a master, its replica and the sentinels that watch them.
type redisPair struct{ master, replica *servers.RedisServer }

func startRedisPair(t *testing.T) redisPair {
	t.Helper()
	master := servers.Start(t, func(ctx context.Context) (*servers.RedisServer, error) {
		return servers.StartRedis(ctx, "--appendonly", "no")
	})
	_, port, _ := strings.Cut(master.Endpoint, ":")
	replica := servers.Start(t, func(ctx context.Context) (*servers.RedisServer, error) {
		return servers.StartRedis(ctx, "--appendonly", "no", "--replicaof", "127.0.0.1 "+port)
	})
	if err := replica.WaitRole(t.Context(), "slave"); err != nil {
		t.Fatal(err)
	}
	return redisPair{master, replica}
}

// forget lets the master grant what the replica will not have: its connection is cut while it is frozen.
func (p redisPair) forget(t *testing.T, grants func()) {
	t.Helper()
	// What comes behind all other writes shows that the replica has them. WAIT would speak of its own connection only.
	marker := rand.Text()
	if answer, err := p.master.Command(t.Context(), "SET", marker, "x"); err != nil || answer != "+OK" {
		t.Fatal(answer, err)
	}
	eventually(t, "the replica has caught up", func() error {
		answer, err := p.replica.Command(t.Context(), "STRLEN", marker)
		if err == nil && answer != ":1" {
			err = errNotYet
		}
		return err
	})
	if err := p.replica.Freeze(); err != nil {
		t.Fatal(err)
	}
	if answer, err := p.master.Command(t.Context(), "CLIENT", "KILL", "TYPE", "replica"); err != nil || !strings.HasPrefix(answer, ":") {
		t.Fatal(answer, err)
	}
	grants()
}

func (p redisPair) counter(t *testing.T, s *servers.RedisServer, namespace string) int64 {
	t.Helper()
	n, err := newRedisClient(s.Endpoint).Get(t.Context(), "{"+namespace+"}:counter").Int64()
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// The counter of a promoted replica is behind, which is seen. Before the first grant there it is raised above the mark.
func TestPromotedRedisIsRaisedBeforeItsFirstGrant(t *testing.T) {
	pair := startRedisPair(t)
	servers.Start(t, func(ctx context.Context) (*servers.RedisSentinels, error) {
		return servers.StartRedisSentinels(ctx, pair.master)
	})
	marks := openMarks(t)
	openAt := func(endpoint string) *redislock.Service {
		svc, err := redislock.Open(t.Context(), goredis.New(newRedisClient(endpoint)), &redislock.Options{Namespace: "promoted", HighWater: marks})
		if err != nil {
			t.Fatal(err)
		}
		return svc
	}
	svc := openAt(pair.master.Endpoint)
	// More than the jump alone would make up for.
	if err := svc.Seed(t.Context(), string(account), 1<<40); err != nil {
		t.Fatal(err)
	}
	lk := newLocker(t, svc, fencerow.Options{TTL: 5 * time.Second, HighWater: marks})
	release(t, acquire(t, lk, account))
	var mark int64
	pair.forget(t, func() {
		if err := svc.Seed(t.Context(), string(account), 1<<41); err != nil {
			t.Fatal(err)
		}
		for range 5 {
			lease := acquire(t, lk, account)
			mark = lease.Token().Number()
			release(t, lease)
		}
	})
	if err := errors.Join(pair.master.Kill(), pair.replica.Thaw(), pair.replica.WaitRole(t.Context(), "master")); err != nil {
		t.Fatal(err)
	}
	if behind := pair.counter(t, pair.replica, "promoted"); behind >= mark {
		t.Fatalf("the promoted server's counter is %d, not behind the mark %d: nothing was forgotten", behind, mark)
	}
	var told regressions
	after := newLocker(t, openAt(pair.replica.Endpoint), fencerow.Options{TTL: 5 * time.Second, HighWater: marks, Observer: told.observer()})
	lease := acquire(t, after, account)
	if got := lease.Token().Number(); got <= mark {
		t.Errorf("number %d was granted after number %d", got, mark)
	}
	if len(told.seen) > 0 {
		t.Errorf("a regression was told: %v", told.seen)
	}
}

// If the fail-over has forgotten more than the jump makes up for and the service knows no marks, the Locker's own store refuses what
// the promoted server grants.
func TestPromotedRedisIsRefusedAndRepaired(t *testing.T) {
	pair := startRedisPair(t)
	sentinels := servers.Start(t, func(ctx context.Context) (*servers.RedisSentinels, error) {
		return servers.StartRedisSentinels(ctx, pair.master)
	})
	marks := openMarks(t)
	svc := open(t, "redis", pair.master.Endpoint, "refused")
	lk := newLocker(t, svc, fencerow.Options{TTL: 5 * time.Second, HighWater: marks})
	release(t, acquire(t, lk, account))
	var mark int64
	pair.forget(t, func() {
		if err := svc.(driver.Seeder).Seed(t.Context(), string(account), 1<<40); err != nil {
			t.Fatal(err)
		}
		for range 5 {
			lease := acquire(t, lk, account)
			mark = lease.Token().Number()
			release(t, lease)
		}
	})
	if err := errors.Join(pair.master.Kill(), pair.replica.Thaw(), pair.replica.WaitRole(t.Context(), "master")); err != nil {
		t.Fatal(err)
	}
	client := redis.NewFailoverClient(&redis.FailoverOptions{MasterName: servers.SentinelMaster, SentinelAddrs: sentinels.Endpoints, ContextTimeoutEnabled: true})
	defer client.Close()
	promoted, err := redislock.Open(t.Context(), goredis.New(client), &redislock.Options{Namespace: "refused"})
	if err != nil {
		t.Fatal(err)
	}
	var told regressions
	after := newLocker(t, promoted, fencerow.Options{TTL: 5 * time.Second, HighWater: marks, Observer: told.observer()})
	mustRefuseAndRepair(t, after, &told, mark)
}

// Without a high-water store the jump makes up for what a fail-over forgets.
func TestPromotedRedisJumps(t *testing.T) {
	pair := startRedisPair(t)
	lk := newLocker(t, open(t, "redis", pair.master.Endpoint, "jump"), fencerow.Options{TTL: 5 * time.Second})
	release(t, acquire(t, lk, account))
	var mark int64
	pair.forget(t, func() {
		for range 5 {
			lease := acquire(t, lk, account)
			mark = lease.Token().Number()
			release(t, lease)
		}
	})
	if err := errors.Join(pair.master.Kill(), pair.replica.Thaw()); err != nil {
		t.Fatal(err)
	}
	if answer, err := pair.replica.Command(t.Context(), "REPLICAOF", "NO", "ONE"); err != nil || answer != "+OK" {
		t.Fatal(answer, err)
	}
	if behind := pair.counter(t, pair.replica, "jump"); behind != mark-5 {
		t.Fatalf("the promoted server's counter is %d, want %d: the five grants forgotten", behind, mark-5)
	}
	after := newLocker(t, open(t, "redis", pair.replica.Endpoint, "jump"), fencerow.Options{TTL: 5 * time.Second})
	if got := acquire(t, after, account).Token().Number(); got <= mark {
		t.Errorf("number %d was granted after number %d", got, mark)
	}
}

// A master that was cut off goes on granting beside its successor. Whatever numbers the two hand out, the strict claim accepts one
// of their holders and refuses the other, also if both have the same number.
func TestTwoRedisMastersAndOneStrictClaim(t *testing.T) {
	for _, same := range []bool{false, true} {
		t.Run("same number "+strconv.FormatBool(same), func(t *testing.T) {
			pair := startRedisPair(t)
			old := newLocker(t, open(t, "redis", pair.master.Endpoint, "two"), fencerow.Options{TTL: time.Minute})
			release(t, acquire(t, old, account))
			pair.forget(t, func() {})
			if err := pair.replica.Thaw(); err != nil {
				t.Fatal(err)
			}
			if answer, err := pair.replica.Command(t.Context(), "REPLICAOF", "NO", "ONE"); err != nil || answer != "+OK" {
				t.Fatal(answer, err)
			}
			oldLease := acquire(t, old, account)
			number := oldLease.Token().Number()
			if same { // as a version without the jump would, and as a master does that was cut off for a million grants
				client := newRedisClient(pair.replica.Endpoint)
				id := client.Info(t.Context(), "replication").Val()
				_, id, _ = strings.Cut(id, "master_replid:")
				id, _, _ = strings.Cut(id, "\r\n")
				if err := errors.Join(client.Set(t.Context(), "{two}:counter", number-1, 0).Err(), client.Set(t.Context(), "{two}:run", id, 0).Err()); err != nil {
					t.Fatal(err)
				}
			}
			newLease := acquire(t, newLocker(t, open(t, "redis", pair.replica.Endpoint, "two"), fencerow.Options{TTL: time.Minute}), account)
			if same != (newLease.Token().Number() == number) {
				t.Fatalf("the two masters granted %d and %d", number, newLease.Token().Number())
			}
			gate, err := sqlfence.OpenGate(t.Context(), openDB(t, "sqlite", sqliteDSN(t)), sqlfence.SQLite, nil)
			if err != nil {
				t.Fatal(err)
			}
			accepted := 0
			for _, lease := range []*fencerow.Lease{newLease, oldLease} {
				switch err := gate.Tx(t.Context(), lease.Stamp(), account, func(context.Context, *sqlfence.Tx) error { return nil }); {
				case err == nil:
					accepted++
				case errors.Is(err, fencerow.ErrStale) && !same, errors.Is(err, fencerow.ErrTokenReused) && same:
				default:
					t.Errorf("%s: %v", lease.Token(), err)
				}
			}
			if accepted != 1 {
				t.Errorf("the claims of %d holders were accepted, want exactly one", accepted)
			}
		})
	}
}
