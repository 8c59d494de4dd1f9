package etcdlock

import (
	"context"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// grant is what this process knows of a grant that it was given and has not released. Its fields are guarded by the mutex of
// grants.
type grant struct {
	key, value string
	revision   int64            // of the key's last change
	lease      clientv3.LeaseID // that the key is on
	renewing   int              // requests under way
	// timer ends the grant when its TTL is over. The etcd lease does not: others on it keep it alive.
	timer *time.Timer
}

// grants are those of this process.
type grants struct {
	mu     sync.Mutex
	byKey  map[string]*grant
	closed bool
}

// keep notes a grant, or that it was renewed, and ends it after the TTL unless it is kept again.
func (s *Service) keep(kv *mvccpb.KeyValue, ttl time.Duration) {
	s.grants.mu.Lock()
	defer s.grants.mu.Unlock()
	if s.grants.closed {
		return
	}
	g := s.grants.byKey[string(kv.Key)]
	if g == nil {
		g = &grant{key: string(kv.Key)}
		g.timer = time.AfterFunc(ttl, func() { s.end(g) })
		s.grants.byKey[g.key] = g
	}
	g.value, g.revision, g.lease = string(kv.Value), kv.ModRevision, clientv3.LeaseID(kv.Lease)
	g.timer.Reset(ttl)
}

// forget is for a grant that is gone.
func (g *grants) forget(key string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if known := g.byKey[key]; known != nil {
		known.timer.Stop()
		delete(g.byKey, key)
	}
}

func (g *grants) forgetAll() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
	for key, known := range g.byKey {
		known.timer.Stop()
		delete(g.byKey, key)
	}
}

const (
	endTimeout = 2 * time.Second
	endAgain   = 200 * time.Millisecond
)

// end removes the key of a grant whose TTL is over, unless it has changed since, which means that another handle has taken it
// over. It tries again until etcd has answered.
func (s *Service) end(g *grant) {
	s.grants.mu.Lock()
	if s.grants.byKey[g.key] != g {
		s.grants.mu.Unlock()
		return
	}
	if g.renewing > 0 { // the answer decides
		g.timer.Reset(endAgain)
		s.grants.mu.Unlock()
		return
	}
	key, revision := g.key, g.revision
	s.grants.mu.Unlock()

	ctx, cancel := context.WithTimeout(context.Background(), endTimeout)
	defer cancel()
	_, err := s.client.Txn(ctx).
		If(clientv3.Compare(clientv3.ModRevision(key), "=", revision)).
		Then(clientv3.OpDelete(key)).
		Commit()

	s.grants.mu.Lock()
	defer s.grants.mu.Unlock()
	switch {
	case s.grants.byKey[key] != g:
	case err != nil || g.revision != revision:
		g.timer.Reset(endAgain)
	default:
		delete(s.grants.byKey, key)
	}
}
