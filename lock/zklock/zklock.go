package zklock

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/fencerow/fencerow/driver"
)

// Service is a lock service in ZooKeeper. It also implements [driver.Queuer], [driver.BatchRenewer], [driver.Seeder],
// [driver.Retirer] and [driver.Inspector].
type Service struct {
	conn    *zk.Conn
	dialer  *dialer
	paths   paths
	acl     []zk.ACL
	source  string
	timeout time.Duration
	owned   owned
	known   known

	background context.Context
	stop       context.CancelFunc
	closing    sync.Once
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
	// Root is the node under which everything is kept. Its parents are created. Services with the same root share their locks.
	// Default: "/fencerow".
	Root string
	// SessionTimeout is asked of the ensemble, which may agree to another one; a TTL must not be shorter than that. A shorter
	// one lets others in sooner after a crash. Default: 10 s.
	SessionTimeout time.Duration
	// ACL is given to every node that is created. Default: everybody may do everything.
	ACL []zk.ACL
	// AuthScheme and AuthCredentials are sent to the ensemble before anything else, for example "digest" and "user:password".
	// Default: none.
	AuthScheme, AuthCredentials string
	// Dialer makes connections, for example with TLS. Default: TCP.
	Dialer zk.Dialer
}

const (
	defaultRoot    = "/fencerow"
	defaultTimeout = 10 * time.Second
	ttlUnit        = time.Millisecond
	maxTTL         = 365 * 24 * time.Hour
	openTimeout    = 15 * time.Second
)

// Open connects to the ensemble, waits for a session and gives the root an identity if it is new. It takes 15 seconds at most; the
// error says what keeps it from ZooKeeper, and never contains credentials.
func Open(ctx context.Context, servers []string, opts *Options) (*Service, error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	if o.Root == "" {
		o.Root = defaultRoot
	}
	if o.SessionTimeout == 0 {
		o.SessionTimeout = defaultTimeout
	}
	if o.ACL == nil {
		o.ACL = zk.WorldACL(zk.PermAll)
	}
	if o.Dialer == nil {
		o.Dialer = net.DialTimeout
	}
	switch {
	case len(servers) == 0:
		return nil, errors.New("zklock: open: no servers were given")
	case !strings.HasPrefix(o.Root, "/") || strings.HasSuffix(o.Root, "/"):
		return nil, fmt.Errorf("zklock: open: the root %q must begin with a slash and not end with one", o.Root)
	case o.SessionTimeout < time.Millisecond:
		return nil, fmt.Errorf("zklock: open: the session timeout is %v, it must be at least 1 ms", o.SessionTimeout)
	}
	s := &Service{dialer: &dialer{dial: o.Dialer}, paths: paths{o.Root}, acl: o.ACL}
	s.owned.byPath = map[string]*ownedNode{}
	s.known.byResource = map[string]state{}
	s.background, s.stop = context.WithCancel(context.Background())
	sessions := make(chan struct{}, 1)
	var err error
	s.conn, _, err = zk.Connect(servers, o.SessionTimeout, zk.WithDialer(s.dialer.connect), zk.WithLogger(silent{}), zk.WithLogInfo(false),
		zk.WithEventCallback(func(e zk.Event) {
			if e.State == zk.StateHasSession {
				select {
				case sessions <- struct{}{}:
				default:
				}
			}
		}))
	if err != nil {
		return nil, fmt.Errorf("zklock: open: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	if err := s.open(ctx, sessions, o); err != nil {
		_ = s.Close()
		return nil, fmt.Errorf("zklock: open: %w", s.explain(err))
	}
	return s, nil
}

type silent struct{}

func (silent) Printf(string, ...any) {}

func (s *Service) open(ctx context.Context, sessions <-chan struct{}, o Options) error {
	select {
	case <-sessions:
	case <-ctx.Done():
		return errors.Join(ctx.Err(), s.dialer.lastError())
	}
	s.timeout = s.dialer.agreed()
	if o.AuthScheme != "" {
		_, err := do(ctx, func() (struct{}, error) { return struct{}{}, s.conn.AddAuth(o.AuthScheme, []byte(o.AuthCredentials)) })
		if err != nil {
			return err
		}
	}
	if err := s.createAll(ctx, s.paths.locks()); err != nil {
		return err
	}
	return s.identify(ctx)
}

// createAll creates a persistent node and its parents, where they are missing.
func (s *Service) createAll(ctx context.Context, path string) error {
	for i := 1; i <= len(path); i++ {
		if i < len(path) && path[i] != '/' {
			continue
		}
		if err := s.createNode(ctx, path[:i], nil); err != nil {
			return err
		}
	}
	return nil
}

// createNode creates a persistent node if it is missing. It looks first, because an existing one may be open to read only.
func (s *Service) createNode(ctx context.Context, path string, data []byte) error {
	exists, err := do(ctx, func() (bool, error) {
		exists, _, err := s.conn.Exists(path)
		return exists, err
	})
	if err != nil || exists {
		return err
	}
	_, err = do(ctx, func() (string, error) { return s.conn.Create(path, data, 0, s.acl) })
	if errors.Is(err, zk.ErrNodeExists) {
		return nil
	}
	return err
}

// identify reads the source, and makes one up under a new root.
func (s *Service) identify(ctx context.Context) error {
	if err := s.createNode(ctx, s.paths.source(), []byte("zookeeper:"+rand.Text())); err != nil {
		return err
	}
	text, err := do(ctx, func() ([]byte, error) {
		text, _, err := s.conn.Get(s.paths.source())
		return text, err
	})
	s.source = string(text)
	return err
}

// Info implements [driver.LockService].
func (s *Service) Info() driver.Info {
	return driver.Info{Source: s.source, Guarantee: driver.Replicated, TTLUnit: ttlUnit, MinTTL: s.timeout, MaxTTL: maxTTL}
}

// Close implements [driver.LockService]. Waiters get an error. The connection is dropped and the session left to time out, so
// that leases end no sooner than they would if the process died.
func (s *Service) Close() error {
	s.closing.Do(func() {
		s.stop()
		s.owned.forgetAll()
		s.dialer.cutAll()
		go s.conn.Close() // it tries for up to a second to say good-bye
	})
	return nil
}

var errClosed = errors.New("zklock: service is closed")

func (s *Service) check(ttl time.Duration) error {
	if s.background.Err() != nil {
		return errClosed
	}
	switch {
	case ttl%ttlUnit != 0 || ttl > maxTTL:
		return fmt.Errorf("zklock: the TTL is %v, it must be a whole number of milliseconds and at most %v", ttl, maxTTL)
	case ttl < s.timeout:
		return fmt.Errorf("zklock: the TTL is %v, the session timeout that ZooKeeper agreed to is %v: use a longer TTL, or a shorter "+
			"SessionTimeout if the ensemble allows it", ttl, s.timeout)
	}
	return nil
}

// ttl is what a grant lasts without being heard from: two thirds of the session, or less if less was asked for.
func (s *Service) ttl(asked time.Duration) time.Duration { return min(asked, s.timeout*2/3) }

// do runs a call of the client library, which takes no context, and stops waiting for it when ctx ends.
func do[T any](ctx context.Context, call func() (T, error)) (T, error) {
	return doOrLate(ctx, call, func(T, error) {})
}

// doOrLate is do for calls that leave something behind: late is told how the call ended if nobody waited for it any more. Requests
// that are made meanwhile may overtake it.
func doOrLate[T any](ctx context.Context, call func() (T, error), late func(T, error)) (T, error) {
	if err := ctx.Err(); err != nil {
		var none T
		return none, err
	}
	type result struct {
		value T
		err   error
	}
	done := make(chan result) // without a buffer, so that a result is either received or late
	go func() {
		value, err := call()
		select {
		case done <- result{value, err}:
		case <-ctx.Done():
			late(value, err)
		}
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}

// multi runs operations of which all or none take effect. A failed one has its error in its result, and err is the first of them.
func (s *Service) multi(ctx context.Context, ops ...any) ([]zk.MultiResponse, error) {
	return do(ctx, func() ([]zk.MultiResponse, error) { return s.conn.Multi(ops...) })
}
