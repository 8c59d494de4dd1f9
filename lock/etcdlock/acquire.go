package etcdlock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/fencerow/fencerow/driver"
)

// Acquire implements [driver.LockService] with one request, if the resource is free.
func (s *Service) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	if err := s.check(r.TTL); err != nil {
		return driver.Grant{}, err
	}
	g, err := s.acquire(ctx, r)
	if err != nil {
		return driver.Grant{}, s.failed("acquire", r.Resource, err)
	}
	return g, nil
}

func (s *Service) acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	begin := time.Now()
	key, prefix, baseKey := s.keys.own(r.Resource, r.GrantID), s.keys.queue(r.Resource), s.keys.base(r.Resource)
	for {
		ses, err := s.sessions.enough(ctx, r.TTL)
		if err != nil {
			return driver.Grant{}, err
		}
		b := s.bases.get(r.Resource)
		if b.retired != "" { // for ever
			return driver.Grant{}, &driver.RetiredError{Successor: b.retired}
		}
		value := encodeValue(r.Holder, b)
		resp, err := s.client.Txn(ctx).
			If(clientv3.Compare(clientv3.CreateRevision(prefix), "=", 0).WithPrefix(),
				clientv3.Compare(clientv3.ModRevision(baseKey), "=", b.revision)).
			Then(clientv3.OpPut(key, value, clientv3.WithLease(ses.id))).
			Else(clientv3.OpGet(prefix, firstCreated()...), clientv3.OpGet(key), clientv3.OpGet(baseKey)).
			Commit()
		if err != nil {
			if s.leaseIsGone(err, ses) {
				continue
			}
			s.doubt(err, ses)
			return driver.Grant{}, err
		}
		if resp.Succeeded {
			kv := &mvccpb.KeyValue{Key: []byte(key), Value: []byte(value), CreateRevision: resp.Header.Revision,
				ModRevision: resp.Header.Revision, Lease: int64(ses.id)}
			return s.granted(r, kv, ses, begin)
		}
		head, own := first(resp.Responses[0]), first(resp.Responses[1])
		b, err = s.learnBase(r.Resource, first(resp.Responses[2]))
		switch {
		case err != nil:
			return driver.Grant{}, err
		case b.retired != "":
			return driver.Grant{}, &driver.RetiredError{Successor: b.retired}
		case head == nil: // only the base was another one
			continue
		case string(head.Key) == key: // the reply to an earlier request was lost
			return s.takeOver(ctx, r, ses, head, begin)
		case own != nil: // a waiter under this grant id was given up and is still in the queue
			if _, err := s.client.Delete(ctx, key); err != nil {
				return driver.Grant{}, err
			}
		}
		return driver.Grant{}, held(head)
	}
}

// firstCreated selects the key of a queue that was created first: that of the holder.
func firstCreated() []clientv3.OpOption {
	return append(clientv3.WithFirstCreate(), clientv3.WithPrefix())
}

// learnBase reads the base from its key, which is nil where there is none.
func (s *Service) learnBase(resource string, kv *mvccpb.KeyValue) (base, error) {
	if kv == nil {
		return base{}, nil
	}
	b, err := decodeBase(kv)
	if err == nil {
		s.bases.set(resource, b)
	}
	return b, err
}

// granted notes the grant of a key.
func (s *Service) granted(r driver.Request, kv *mvccpb.KeyValue, ses session, begin time.Time) (driver.Grant, error) {
	_, b, err := decodeValue(string(kv.Key), kv.Value)
	if err != nil {
		return driver.Grant{}, err
	}
	number, err := b.number(kv.CreateRevision)
	if err != nil {
		return driver.Grant{}, err
	}
	s.keep(kv, r.TTL)
	return driver.Grant{Resource: r.Resource, GrantID: r.GrantID, Number: number, TTL: ses.remaining(begin)}, nil
}

// takeOver makes a key that is first in its queue a grant of this process, with a whole TTL before it.
func (s *Service) takeOver(ctx context.Context, r driver.Request, ses session, kv *mvccpb.KeyValue, begin time.Time) (driver.Grant, error) {
	if kv.Lease != int64(ses.id) {
		resp, err := s.client.Txn(ctx).
			If(clientv3.Compare(clientv3.ModRevision(string(kv.Key)), "=", kv.ModRevision)).
			Then(clientv3.OpPut(string(kv.Key), string(kv.Value), clientv3.WithLease(ses.id))).
			Commit()
		if err != nil {
			s.doubt(err, ses)
			return driver.Grant{}, err
		}
		if !resp.Succeeded {
			return driver.Grant{}, fmt.Errorf("the key %q changed while it was taken over, ask again", kv.Key)
		}
		kv.ModRevision, kv.Lease = resp.Header.Revision, int64(ses.id)
	}
	return s.granted(r, kv, ses, begin)
}

// leaseIsGone reports whether a request failed because the session has ended, and lets the next one have another.
func (s *Service) leaseIsGone(err error, ses session) bool {
	if !errors.Is(err, rpctypes.ErrLeaseNotFound) {
		return false
	}
	s.sessions.retire(ses.id, ses.ttl)
	return true
}

// doubt lets a session expire if the outcome of a request that put a key on it is unknown: the request may arrive later than
// anything that would remove the key again.
func (s *Service) doubt(err error, ses session) {
	if !definite(err) {
		s.sessions.retire(ses.id, ses.ttl)
	}
}

func held(head *mvccpb.KeyValue) error {
	holder, b, err := decodeValue(string(head.Key), head.Value)
	if err != nil {
		return &driver.HeldError{Holder: "unknown"}
	}
	number, err := b.number(head.CreateRevision)
	if err != nil {
		number = 0
	}
	return &driver.HeldError{Holder: holder, Number: number}
}

// Release implements [driver.LockService] with one request. A waiter that is still in the queue is taken out of it.
func (s *Service) Release(ctx context.Context, g driver.Grant) error {
	if s.isClosed() {
		return errClosed
	}
	key := s.keys.own(g.Resource, g.GrantID)
	resp, err := s.client.Delete(ctx, key)
	if err != nil {
		return s.failed("release", g.Resource, err) // its timer stays: it goes with its TTL at the latest
	}
	s.grants.forget(key)
	if resp.Deleted == 0 {
		return driver.ErrNotCurrent
	}
	return nil
}
