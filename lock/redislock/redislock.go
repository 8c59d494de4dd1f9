package redislock

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"hash/fnv"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/fencerow/fencerow"
	"github.com/fencerow/fencerow/driver"
	"github.com/fencerow/fencerow/internal/redisserver"
	"github.com/fencerow/fencerow/redisconn"
)

// Service is a lock service in Redis. It also implements [driver.Waiter], [driver.BatchRenewer], [driver.Seeder],
// [driver.Retirer] and [driver.Inspector].
type Service struct {
	conn     redisconn.Conn
	opts     Options
	source   string
	parts    int
	findings []string
	waiters  waiters

	background context.Context
	stop       context.CancelFunc
}

var (
	_ driver.LockService  = (*Service)(nil)
	_ driver.Waiter       = (*Service)(nil)
	_ driver.BatchRenewer = (*Service)(nil)
	_ driver.Seeder       = (*Service)(nil)
	_ driver.Retirer      = (*Service)(nil)
	_ driver.Inspector    = (*Service)(nil)
)

// Options of a Service. A nil *Options means the defaults.
type Options struct {
	// Namespace is the beginning of all keys: letters, digits and any of "._:-". Services with the same namespace share their
	// locks. Default: "fencerow".
	Namespace string
	// HighWater is where the highest numbers are kept outside of Redis. When another server takes over, the counter is raised
	// above the highest mark of this source before anything is granted. Give the same store to fencerow.Options.
	HighWater fencerow.HighWater
	// Replicas is how many replicas must have a grant before it is handed out. If they do not confirm in time the grant is given
	// back and the acquire fails. This narrows the window in which a fail-over forgets grants, it does not close it: the replica
	// that is promoted may be another one. Default: 0.
	Replicas int
	// ReplicaTimeout bounds the wait for the replicas. Default: 1 s.
	ReplicaTimeout time.Duration
}

const (
	defaultNamespace = "fencerow"
	clusterParts     = 16
	ttlUnit          = time.Millisecond
	minTTL           = 50 * time.Millisecond
	maxTTL           = 365 * 24 * time.Hour
	openTimeout      = 10 * time.Second
	// jump is what the counter is raised by for a server that takes over: more than the grants that a fail-over may forget.
	jump = 1 << 20
	// remembered is how long a release is recognized when it is sent again. It is longer than a release may take.
	remembered = 10 * time.Second
)

var (
	errClosed     = errors.New("redislock: service is closed")
	namespaceForm = regexp.MustCompile(`^[A-Za-z0-9._:-]{1,64}$`)
)

// Open returns the lock service in the namespace and gives it an identity if it is new. It takes 10 seconds at most. It refuses
// a server that may evict the counter, a replica, and one that is too old, and says what to do.
func Open(ctx context.Context, conn redisconn.Conn, opts *Options) (*Service, error) {
	s := &Service{conn: conn}
	if opts != nil {
		s.opts = *opts
	}
	if s.opts.Namespace == "" {
		s.opts.Namespace = defaultNamespace
	}
	if s.opts.ReplicaTimeout == 0 {
		s.opts.ReplicaTimeout = time.Second
	}
	switch {
	case conn == nil:
		return nil, errors.New("redislock: open: the connection is nil")
	case !namespaceForm.MatchString(s.opts.Namespace):
		return nil, fmt.Errorf(`redislock: open: the namespace %q must be 1 to 64 letters, digits or "._:-"`, s.opts.Namespace)
	case s.opts.Replicas < 0 || s.opts.ReplicaTimeout < time.Millisecond:
		return nil, fmt.Errorf("redislock: open: Replicas is %d and ReplicaTimeout %v: they must not be negative, and the latter at least 1 ms",
			s.opts.Replicas, s.opts.ReplicaTimeout)
	}
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	if err := s.open(ctx); err != nil {
		return nil, fmt.Errorf("redislock: open: %w", redisserver.Explain(err))
	}
	s.background, s.stop = context.WithCancel(context.Background())
	s.waiters.init(s)
	return s, nil
}

func (s *Service) open(ctx context.Context) error {
	cluster, err := s.examine(ctx)
	if err != nil {
		return err
	}
	parts := 1
	if cluster {
		parts = clusterParts
	}
	// The number of parts is part of the identity: with another one the same resource would be two.
	key := "{" + s.opts.Namespace + "}:source"
	fresh := fmt.Sprintf("redis:%s/%d", rand.Text(), parts)
	replies, err := s.conn.Do(ctx, key, redisconn.Command{"SET", key, fresh, "NX"})
	if err == nil {
		err = replies[0].Err
	}
	if err != nil {
		return err
	}
	if replies, err = s.conn.Do(ctx, key, redisconn.Command{"GET", key}); err != nil {
		return err
	}
	source, ok := replies[0].Value.(string)
	_, count, found := strings.Cut(source, "/")
	s.parts, err = strconv.Atoi(count)
	if !ok || !found || err != nil || s.parts < 1 {
		return fmt.Errorf("the key %q holds %v (%v), which is not ours: use another namespace", key, replies[0].Value, replies[0].Err)
	}
	s.source = source
	return nil
}

// Info implements [driver.LockService].
func (s *Service) Info() driver.Info {
	return driver.Info{Source: s.source, Guarantee: driver.Async, TTLUnit: ttlUnit, MinTTL: minTTL, MaxTTL: maxTTL}
}

// Close implements [driver.LockService]. Leases end with their TTLs. The client stays open.
func (s *Service) Close() error {
	s.stop()
	s.waiters.done.Wait()
	return nil
}

// keys are those of a resource. They are on one server of a cluster.
type keys struct{ lock, waiters, counter, run string }

func (s *Service) keys(resource string) keys {
	tag := "{" + s.opts.Namespace + "}"
	if s.parts > 1 {
		tag = fmt.Sprintf("{%s:%d}", s.opts.Namespace, s.part(resource))
	}
	return keys{lock: tag + ":lock:" + resource, waiters: tag + ":waiters:" + resource, counter: tag + ":counter", run: tag + ":run"}
}

func (s *Service) part(resource string) int {
	if s.parts == 1 {
		return 0
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(resource))
	return int(h.Sum32() % uint32(s.parts))
}

// channel is the prefix of the channels on which processes are woken.
func (s *Service) channel() string { return s.opts.Namespace + ":wake:" }

func (s *Service) check(ttl time.Duration) error {
	if s.background.Err() != nil {
		return errClosed
	}
	if ttl < minTTL || ttl > maxTTL || ttl%ttlUnit != 0 {
		return fmt.Errorf("redislock: the TTL is %v, it must be a whole number of milliseconds from %v to %v", ttl, minTTL, maxTTL)
	}
	return nil
}

func millis(d time.Duration) string { return strconv.FormatInt(int64(d/time.Millisecond), 10) }
