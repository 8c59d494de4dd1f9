package etcdlock

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/fencerow/fencerow/driver"
)

// Service is a lock service in etcd. It also implements [driver.Queuer], [driver.BatchRenewer], [driver.Seeder],
// [driver.Retirer] and [driver.Inspector].
type Service struct {
	client   *clientv3.Client
	keys     keys
	source   string
	minTTL   time.Duration
	sessions sessions
	grants   grants
	bases    bases

	// background ends when the service is closed.
	background context.Context
	stop       context.CancelFunc
}

var (
	_ driver.LockService  = (*Service)(nil)
	_ driver.Queuer       = (*Service)(nil)
	_ driver.BatchRenewer = (*Service)(nil)
	_ driver.Seeder       = (*Service)(nil)
	_ driver.Retirer      = (*Service)(nil)
	_ driver.Inspector    = (*Service)(nil)
)

// Options of a Service. A nil *Options means the defaults.
type Options struct {
	// Namespace is the prefix of all keys, without a slash at its end. Services with the same namespace share their locks.
	// Default: "fencerow".
	Namespace string
}

const (
	defaultNamespace = "fencerow"
	ttlUnit          = time.Second
	maxTTL           = 365 * 24 * time.Hour
	// openTimeout bounds Open, because the client itself waits long for a server that does not answer.
	openTimeout = 10 * time.Second
)

var errClosed = errors.New("etcdlock: service is closed")

// Open returns the lock service in the namespace and gives it an identity if it is new. It takes 10 seconds at most; the error
// says what keeps it from etcd. The caller keeps and closes the client.
func Open(ctx context.Context, client *clientv3.Client, opts *Options) (*Service, error) {
	if client == nil {
		return nil, errors.New("etcdlock: open: the client is nil")
	}
	namespace := defaultNamespace
	if opts != nil && opts.Namespace != "" {
		namespace = opts.Namespace
	}
	if strings.HasSuffix(namespace, "/") {
		return nil, fmt.Errorf("etcdlock: open: the namespace %q ends with a slash, leave it out", namespace)
	}
	s := &Service{
		client:   client,
		keys:     keys{namespace},
		sessions: sessions{client: client, byTTL: map[time.Duration]*slot{}},
		grants:   grants{byKey: map[string]*grant{}},
		bases:    bases{byResource: map[string]base{}},
	}
	s.background, s.stop = context.WithCancel(context.Background())
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	if err := s.open(ctx); err != nil {
		return nil, fmt.Errorf("etcdlock: open: %w", s.diagnose(err))
	}
	return s, nil
}

func (s *Service) open(ctx context.Context) error {
	if err := s.identify(ctx); err != nil {
		return err
	}
	if err := s.checkVersion(ctx); err != nil {
		return err
	}
	return s.askMinTTL(ctx)
}

// identify reads the source, and makes one up in a new namespace.
func (s *Service) identify(ctx context.Context) error {
	fresh := "etcd:" + rand.Text()
	key := s.keys.source()
	resp, err := s.client.Txn(ctx).
		If(clientv3.Compare(clientv3.CreateRevision(key), "=", 0)).
		Then(clientv3.OpPut(key, fresh)).
		Else(clientv3.OpGet(key)).
		Commit()
	if err != nil {
		return err
	}
	s.source = fresh
	if !resp.Succeeded {
		s.source = string(resp.Responses[0].GetResponseRange().Kvs[0].Value)
	}
	return nil
}

// askMinTTL learns the shortest TTL that the server grants: it raises a shorter one without a word.
func (s *Service) askMinTTL(ctx context.Context) error {
	granted, err := s.client.Grant(ctx, 1)
	if err != nil {
		return err
	}
	s.minTTL = time.Duration(granted.TTL) * time.Second
	_, _ = s.client.Revoke(ctx, granted.ID) // or it ends by itself
	return nil
}

// Info implements [driver.LockService].
func (s *Service) Info() driver.Info {
	return driver.Info{Source: s.source, Guarantee: driver.Replicated, TTLUnit: ttlUnit, MinTTL: s.minTTL, MaxTTL: maxTTL}
}

// Close implements [driver.LockService]. Waiters get an error. Leases end with their TTLs, because nobody keeps them alive any
// more. The client stays open.
func (s *Service) Close() error {
	s.stop()
	s.grants.forgetAll()
	return nil
}

// check is the beginning of every operation.
func (s *Service) check(ttl time.Duration) error {
	if s.isClosed() {
		return errClosed
	}
	switch {
	case ttl%ttlUnit != 0:
		return fmt.Errorf("etcdlock: the TTL is %v, etcd counts in whole seconds", ttl)
	case ttl < s.minTTL:
		return fmt.Errorf("etcdlock: the TTL is %v, this etcd grants %v or more: one and a half of its election time-out", ttl, s.minTTL)
	case ttl > maxTTL:
		return fmt.Errorf("etcdlock: the TTL is %v, it must be %v or less", ttl, maxTTL)
	}
	return nil
}

func (s *Service) isClosed() bool { return s.background.Err() != nil }

// bases are those that this process has seen, so that an acquire need not read them first. A stale one is found out by the
// acquire itself.
type bases struct {
	mu         sync.Mutex
	byResource map[string]base // only those that were ever seeded
}

func (b *bases) get(resource string) base {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.byResource[resource]
}

func (b *bases) set(resource string, known base) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if known.revision > b.byResource[resource].revision {
		b.byResource[resource] = known
	}
}
