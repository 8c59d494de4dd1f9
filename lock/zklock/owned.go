package zklock

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
)

// ownedNode is a grant's node, or a waiter's, that this process has made or may have made.
type ownedNode struct {
	paths    []string // what is deleted together, the name of the grant first
	renewing int      // requests under way
	ended    bool     // the TTL is over and the nodes are being deleted: nothing may renew them any more
	until    time.Time
	// timer deletes the nodes when the TTL is over: the session goes on while the process lives.
	timer *time.Timer
}

// owned are the nodes of this process.
type owned struct {
	mu     sync.Mutex
	byPath map[string]*ownedNode
	closed bool
}

// keep notes nodes, or that their grant was renewed, and deletes them after the TTL unless they are kept again.
func (s *Service) keep(ttl time.Duration, paths ...string) {
	s.owned.mu.Lock()
	defer s.owned.mu.Unlock()
	if s.owned.closed {
		return
	}
	n := s.owned.byPath[paths[0]]
	if n != nil && n.ended {
		return // it is being deleted
	}
	if n == nil {
		n = &ownedNode{paths: paths}
		n.timer = time.AfterFunc(ttl, func() { s.end(n) })
		s.owned.byPath[paths[0]] = n
	}
	n.until = time.Now().Add(ttl)
	n.timer.Reset(ttl)
}

// forget is for nodes that are gone.
func (o *owned) forget(path string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if n := o.byPath[path]; n != nil {
		n.timer.Stop()
		delete(o.byPath, path)
	}
}

func (o *owned) forgetAll() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	for path, n := range o.byPath {
		n.timer.Stop()
		delete(o.byPath, path)
	}
}

// beginRenewal keeps a grant of this process from ending until done is called. It says no if the grant has ended.
func (o *owned) beginRenewal(path string) (done func(), ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	n := o.byPath[path]
	if n == nil {
		return func() {}, true
	}
	if n.ended {
		return nil, false
	}
	n.renewing++
	return func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		n.renewing--
	}, true
}

const (
	endTimeout = 2 * time.Second
	endAgain   = 200 * time.Millisecond
)

// end deletes nodes whose TTL is over. It tries again until ZooKeeper has answered.
func (s *Service) end(n *ownedNode) {
	s.owned.mu.Lock()
	if s.owned.byPath[n.paths[0]] != n {
		s.owned.mu.Unlock()
		return
	}
	if n.renewing > 0 { // the answer decides
		n.timer.Reset(endAgain)
		s.owned.mu.Unlock()
		return
	}
	if left := time.Until(n.until); left > 0 && !n.ended { // it was kept again after the timer had fired
		n.timer.Reset(left)
		s.owned.mu.Unlock()
		return
	}
	n.ended = true
	s.owned.mu.Unlock()

	ctx, cancel := context.WithTimeout(s.background, endTimeout)
	defer cancel()
	err := s.deleteAll(ctx, n.paths...)

	s.owned.mu.Lock()
	defer s.owned.mu.Unlock()
	if s.owned.byPath[n.paths[0]] != n {
		return
	}
	if err == nil || errors.Is(err, zk.ErrNoNode) {
		delete(s.owned.byPath, n.paths[0])
		return
	}
	n.timer.Reset(endAgain)
}

// deleteAll deletes nodes together, or none if the first is gone.
func (s *Service) deleteAll(ctx context.Context, paths ...string) error {
	var ops []any
	for _, path := range paths {
		ops = append(ops, &zk.DeleteRequest{Path: path, Version: -1})
	}
	results, err := s.multi(ctx, ops...)
	return firstError(results, err)
}

// firstError returns why a multi has failed. The library's own error may be the one that other operations have, which only says
// that they were not run.
func firstError(results []zk.MultiResponse, err error) error {
	if err == nil {
		return nil
	}
	for _, r := range results {
		if r.Error != nil {
			return r.Error
		}
	}
	return err
}
