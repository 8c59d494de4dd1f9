package etcdlock

import (
	"context"
	"errors"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// session is an etcd lease that the grants of one TTL share.
type session struct {
	id  clientv3.LeaseID
	ttl time.Duration
	// sent is the time before the latest request that etcd answered by restarting the lease.
	sent time.Time
}

// remaining is how long the lease lasts at least, counted from a time in the past or now.
func (s session) remaining(from time.Time) time.Duration {
	return min(s.ttl, s.ttl-elapsed(s.sent, from))
}

// elapsed takes the greater of what the monotonic and the wall clock say: the former stands still while the machine is
// suspended, the latter may be set back.
func elapsed(from, to time.Time) time.Duration {
	return max(to.Sub(from), to.Round(0).Sub(from.Round(0)))
}

// sessions are the etcd leases of a Service, one for each TTL in use.
type sessions struct {
	client *clientv3.Client
	mu     sync.Mutex
	byTTL  map[time.Duration]*slot
}

// slot holds the session of one TTL.
type slot struct {
	turn    chan struct{} // holds a value while somebody asks etcd about it
	current *session      // guarded by the mutex of sessions, replaced and not changed
}

// enough returns a session of which two thirds of the TTL are left. Most calls need no request for that.
func (s *sessions) enough(ctx context.Context, ttl time.Duration) (session, error) {
	return s.get(ctx, ttl, func(c *session) bool { return c.remaining(time.Now()) >= ttl*2/3 })
}

// restarted returns a session whose time was restarted by a request that was sent after the call began.
func (s *sessions) restarted(ctx context.Context, ttl time.Duration) (session, error) {
	begin := time.Now()
	return s.get(ctx, ttl, func(c *session) bool { return !c.sent.Before(begin) })
}

func (s *sessions) get(ctx context.Context, ttl time.Duration, good func(*session) bool) (session, error) {
	slot := s.slot(ttl)
	select {
	case slot.turn <- struct{}{}:
		defer func() { <-slot.turn }()
	case <-ctx.Done():
		return session{}, ctx.Err()
	}
	c := s.current(slot)
	if c != nil && good(c) {
		return *c, nil
	}
	sent := time.Now()
	if c != nil && c.remaining(sent) > 0 {
		_, err := s.client.KeepAliveOnce(ctx, c.id)
		if err == nil {
			return s.replace(slot, c, &session{id: c.id, ttl: ttl, sent: sent}), nil
		}
		if !errors.Is(err, rpctypes.ErrLeaseNotFound) {
			return session{}, err
		}
	}
	sent = time.Now()
	granted, err := s.client.Grant(ctx, int64(ttl/time.Second))
	if err != nil {
		return session{}, err
	}
	return s.replace(slot, c, &session{id: granted.ID, ttl: ttl, sent: sent}), nil
}

func (s *sessions) current(slot *slot) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slot.current
}

// replace makes next the current session, unless the one before it was retired meanwhile.
func (s *sessions) replace(slot *slot, before, next *session) session {
	s.mu.Lock()
	defer s.mu.Unlock()
	if slot.current == before || next.id != idOf(before) {
		slot.current = next
	}
	return *next
}

func idOf(s *session) clientv3.LeaseID {
	if s == nil {
		return clientv3.NoLease
	}
	return s.id
}

// retire lets a session expire: nobody keeps it alive any more, and later grants get another one.
func (s *sessions) retire(id clientv3.LeaseID, ttl time.Duration) {
	slot := s.slot(ttl)
	s.mu.Lock()
	defer s.mu.Unlock()
	if idOf(slot.current) == id {
		slot.current = nil
	}
}

func (s *sessions) slot(ttl time.Duration) *slot {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byTTL[ttl] == nil {
		s.byTTL[ttl] = &slot{turn: make(chan struct{}, 1)}
	}
	return s.byTTL[ttl]
}
