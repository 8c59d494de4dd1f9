package etcdlock

import (
	"context"
	"fmt"
	"math"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/fencerow/fencerow/driver"
)

// maxSeed leaves room for the revisions above the base.
const maxSeed = math.MaxInt64 - 1<<48

// Seed implements [driver.Seeder]: it makes the resource's base the given number, if that is more, so that every number after
// it is greater whatever the revision. Numbers jump further than they must, which costs nothing.
func (s *Service) Seed(ctx context.Context, resource string, above int64) error {
	if s.isClosed() {
		return errClosed
	}
	if above < 0 || above > maxSeed {
		return fmt.Errorf("etcdlock: seed %s: %d must be from 0 to %d", resource, above, int64(maxSeed))
	}
	if err := s.seed(ctx, resource, above); err != nil {
		return s.failed("seed", resource, err)
	}
	return nil
}

func (s *Service) seed(ctx context.Context, resource string, above int64) error {
	key := s.keys.base(resource)
	known := s.bases.get(resource)
	for known.value < above {
		next := base{value: above, retired: known.retired}
		resp, err := s.client.Txn(ctx).
			If(clientv3.Compare(clientv3.ModRevision(key), "=", known.revision)).
			Then(clientv3.OpPut(key, next.encode())).
			Else(clientv3.OpGet(key)).
			Commit()
		if err != nil {
			return err
		}
		if resp.Succeeded {
			next.revision = resp.Header.Revision
			s.bases.set(resource, next)
			return nil
		}
		if known, err = s.learnBase(resource, first(resp.Responses[0])); err != nil {
			return err
		}
	}
	return nil
}

// Retire implements [driver.Retirer].
func (s *Service) Retire(ctx context.Context, resource, successor string) (highest int64, err error) {
	if s.isClosed() {
		return 0, errClosed
	}
	if highest, err = s.retire(ctx, resource, successor); err != nil {
		return 0, s.failed("retire", resource, err)
	}
	return highest, nil
}

func (s *Service) retire(ctx context.Context, resource, successor string) (int64, error) {
	key, prefix := s.keys.base(resource), s.keys.queue(resource)
	for {
		known := s.bases.get(resource)
		if known.retired != "" && known.retired != successor {
			return 0, &driver.RetiredError{Successor: known.retired}
		}
		next := base{value: known.value, retired: successor}
		resp, err := s.client.Txn(ctx).
			If(clientv3.Compare(clientv3.CreateRevision(prefix), "=", 0).WithPrefix(),
				clientv3.Compare(clientv3.ModRevision(key), "=", known.revision)).
			Then(clientv3.OpPut(key, next.encode())).
			Else(clientv3.OpGet(prefix, firstCreated()...), clientv3.OpGet(key)).
			Commit()
		if err != nil {
			return 0, err
		}
		if resp.Succeeded {
			next.revision = resp.Header.Revision
			s.bases.set(resource, next)
			return next.number(next.revision)
		}
		if _, err := s.learnBase(resource, first(resp.Responses[1])); err != nil {
			return 0, err
		}
		if head := first(resp.Responses[0]); head != nil {
			return 0, held(head)
		}
	}
}

// Inspect implements [driver.Inspector]. The number of a resource that nobody holds is that of the newest revision, which no
// grant so far exceeds.
func (s *Service) Inspect(ctx context.Context, resource string) (driver.State, error) {
	if s.isClosed() {
		return driver.State{}, errClosed
	}
	state, err := s.inspect(ctx, resource)
	if err != nil {
		return driver.State{}, s.failed("inspect", resource, err)
	}
	return state, nil
}

func (s *Service) inspect(ctx context.Context, resource string) (driver.State, error) {
	resp, err := s.client.Txn(ctx).
		Then(clientv3.OpGet(s.keys.queue(resource), firstCreated()...), clientv3.OpGet(s.keys.base(resource))).
		Commit()
	if err != nil {
		return driver.State{}, err
	}
	b, err := s.learnBase(resource, first(resp.Responses[1]))
	if err != nil {
		return driver.State{}, err
	}
	head := first(resp.Responses[0])
	if head == nil {
		number, err := b.number(resp.Header.Revision)
		return driver.State{Number: number, RetiredTo: b.retired}, err
	}
	state := driver.State{Held: true}
	var own base
	if state.Holder, own, err = decodeValue(string(head.Key), head.Value); err != nil {
		return driver.State{}, err
	}
	if state.Number, err = own.number(head.CreateRevision); err != nil {
		return driver.State{}, err
	}
	if state.GrantID, err = s.keys.grantID(resource, string(head.Key)); err != nil {
		return driver.State{}, err
	}
	lease, err := s.client.TimeToLive(ctx, clientv3.LeaseID(head.Lease))
	if err == nil && lease.TTL > 0 {
		state.Remaining = time.Duration(lease.TTL) * time.Second
	}
	return state, err
}
