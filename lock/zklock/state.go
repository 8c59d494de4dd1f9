package zklock

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"

	"github.com/go-zookeeper/zk"
)

// state is what an acquire must know of a resource, and what it asserts in the same transaction.
type state struct {
	dirVersion  int32
	waiting     bool // whether somebody may be in the queue
	baseVersion int32
	base        int64
	retired     string // the source that the resource was handed over to, empty if it was not
}

// known are the states that this process has seen, so that an acquire need not read them first. A stale one is found out by the
// acquire itself.
type known struct {
	mu         sync.Mutex
	byResource map[string]state
}

// maxKnown bounds the memory for resources that are used once.
const maxKnown = 10_000

func (k *known) get(resource string) (state, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	st, ok := k.byResource[resource]
	return st, ok
}

func (k *known) set(resource string, st state) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.byResource) >= maxKnown {
		clear(k.byResource)
	}
	k.byResource[resource] = st
}

func (k *known) forget(resource string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.byResource, resource)
}

// state returns what is known of a resource, or reads it.
func (s *Service) state(ctx context.Context, resource string) (state, error) {
	if st, ok := s.known.get(resource); ok {
		return st, nil
	}
	st, err := s.readState(ctx, resource)
	if errors.Is(err, zk.ErrNoNode) {
		if err = s.createDir(ctx, resource); err == nil {
			st, err = s.readState(ctx, resource)
		}
	}
	if err == nil {
		s.known.set(resource, st)
	}
	return st, err
}

func (s *Service) readState(ctx context.Context, resource string) (state, error) {
	st, err := s.readBase(ctx, resource)
	if err != nil {
		return state{}, err
	}
	dir, err := s.get(ctx, s.paths.dir(resource))
	st.dirVersion, st.waiting = dir.stat.Version, len(dir.data) > 0
	return st, err
}

func (s *Service) readBase(ctx context.Context, resource string) (state, error) {
	n, err := s.get(ctx, s.paths.base(resource))
	if err != nil {
		return state{}, err
	}
	var v baseValue
	err = json.Unmarshal(n.data, &v)
	st := state{baseVersion: n.stat.Version, retired: v.RetiredTo}
	if err == nil {
		st.base, err = strconv.ParseInt(v.Base, 10, 64)
	}
	if err != nil || st.base < 0 {
		return state{}, fmt.Errorf("the node %s has data that is not ours: %q, %w", s.paths.base(resource), n.data, err)
	}
	return st, nil
}

// node is a node's data and stat.
type node struct {
	data []byte
	stat zk.Stat
}

func (s *Service) get(ctx context.Context, path string) (node, error) {
	return do(ctx, func() (node, error) {
		data, stat, err := s.conn.Get(path)
		if err != nil {
			return node{}, err
		}
		return node{data, *stat}, nil
	})
}

// createDir creates the nodes of a resource. Another process may be at it as well.
func (s *Service) createDir(ctx context.Context, resource string) error {
	text, _ := json.Marshal(baseValue{Base: "0"})
	for _, n := range []struct {
		path string
		data []byte
	}{{s.paths.dir(resource), nil}, {s.paths.queue(resource), nil}, {s.paths.base(resource), text}} {
		_, err := do(ctx, func() (string, error) { return s.conn.Create(n.path, n.data, 0, s.acl) })
		if err != nil && !errors.Is(err, zk.ErrNodeExists) {
			return err
		}
	}
	return nil
}
