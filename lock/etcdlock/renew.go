package etcdlock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/fencerow/fencerow/driver"
)

type responseOp = pb.ResponseOp

// first returns the first key of a response, or nil.
func first(r *responseOp) *mvccpb.KeyValue {
	if kvs := r.GetResponseRange().GetKvs(); len(kvs) > 0 {
		return kvs[0]
	}
	return nil
}

// Renew implements [driver.LockService].
func (s *Service) Renew(ctx context.Context, g driver.Grant, ttl time.Duration) error {
	errs, err := s.RenewMany(ctx, []driver.Grant{g}, ttl)
	if err != nil {
		return err
	}
	return errs[0]
}

// maxTxnKeys is the number of keys in one transaction. etcd's default limit is 128.
const maxTxnKeys = 128

// RenewMany implements [driver.BatchRenewer] with one keep-alive for all and a request for each 128 grants, which looks whether
// their keys are still there.
func (s *Service) RenewMany(ctx context.Context, grants []driver.Grant, ttl time.Duration) ([]error, error) {
	if err := s.check(ttl); err != nil {
		return nil, err
	}
	if len(grants) == 0 {
		return nil, nil
	}
	errs, err := s.renewMany(ctx, grants, ttl)
	if err != nil {
		return nil, s.failed("renew", grants[0].Resource, err)
	}
	return errs, nil
}

func (s *Service) renewMany(ctx context.Context, grants []driver.Grant, ttl time.Duration) ([]error, error) {
	ses, err := s.sessions.restarted(ctx, ttl)
	if err != nil {
		return nil, err
	}
	errs := make([]error, len(grants))
	indexes := map[string][]int{} // by key: a batch may name a grant twice
	var known []string
	ours := map[string]bool{}
	for i, g := range grants {
		key := s.keys.own(g.Resource, g.GrantID)
		if indexes[key] == nil && s.grants.renewing(key, +1) {
			defer s.grants.renewing(key, -1)
			known, ours[key] = append(known, key), true
		}
		indexes[key] = append(indexes[key], i)
	}
	gone := map[string]bool{}
	for chunk := range slices.Chunk(known, maxTxnKeys) {
		if err := s.renewKnown(ctx, chunk, ses, gone); err != nil {
			return nil, err
		}
	}
	for key, places := range indexes {
		err := error(nil)
		switch {
		case gone[key]:
			err = driver.ErrNotCurrent
		case !ours[key]:
			if err = s.renewUnknown(ctx, grants[places[0]], ses); err != nil && !errors.Is(err, driver.ErrNotCurrent) {
				return nil, err
			}
		}
		for _, i := range places {
			errs[i] = err
		}
	}
	return errs, nil
}

// renewing counts the renewals under way of a grant of this process, and says whether it is one.
func (g *grants) renewing(key string, n int) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	known := g.byKey[key]
	if known != nil {
		known.renewing += n
	}
	return known != nil
}

// renewKnown renews grants of this process: their keys must be as they were, and move to the session if they are on another
// etcd lease. A key that another handle has changed is looked at again; one that is gone is noted.
func (s *Service) renewKnown(ctx context.Context, keys []string, ses session, gone map[string]bool) error {
	for range 4 {
		var same []clientv3.Cmp
		var move, look []clientv3.Op
		known := s.grants.copies(keys)
		for _, g := range known {
			same = append(same, clientv3.Compare(clientv3.ModRevision(g.key), "=", g.revision))
			look = append(look, clientv3.OpGet(g.key))
			if g.lease != ses.id {
				move = append(move, clientv3.OpPut(g.key, g.value, clientv3.WithLease(ses.id)))
			}
		}
		if len(known) == 0 {
			return nil
		}
		resp, err := s.client.Txn(ctx).If(same...).Then(move...).Else(look...).Commit()
		if err != nil {
			return err
		}
		if resp.Succeeded {
			for _, g := range known {
				kv := &mvccpb.KeyValue{Key: []byte(g.key), Value: []byte(g.value), ModRevision: g.revision, Lease: int64(g.lease)}
				if g.lease != ses.id {
					kv.ModRevision, kv.Lease = resp.Header.Revision, int64(ses.id)
				}
				s.keep(kv, ses.ttl)
			}
			return nil
		}
		keys = nil
		for i, g := range known {
			kv := first(resp.Responses[i])
			if kv == nil {
				gone[g.key] = true
				s.grants.forget(g.key)
				continue
			}
			s.keep(kv, ses.ttl)
			keys = append(keys, g.key)
		}
	}
	return errors.New("the keys change all the time")
}

// copies returns what is known of the keys that are still grants of this process.
func (g *grants) copies(keys []string) []grant {
	g.mu.Lock()
	defer g.mu.Unlock()
	var known []grant
	for _, key := range keys {
		if one := g.byKey[key]; one != nil {
			known = append(known, *one)
		}
	}
	return known
}

// renewUnknown renews a grant that this process does not know, for example one that was given to it by another handle.
func (s *Service) renewUnknown(ctx context.Context, g driver.Grant, ses session) error {
	resp, err := s.client.Get(ctx, s.keys.queue(g.Resource), firstCreated()...)
	if err != nil {
		return err
	}
	if len(resp.Kvs) == 0 || string(resp.Kvs[0].Key) != s.keys.own(g.Resource, g.GrantID) {
		return driver.ErrNotCurrent
	}
	r := driver.Request{Resource: g.Resource, GrantID: g.GrantID, TTL: ses.ttl}
	if _, err := s.takeOver(ctx, r, ses, resp.Kvs[0], time.Now()); err != nil {
		return fmt.Errorf("take over a grant of another handle: %w", err)
	}
	return nil
}
