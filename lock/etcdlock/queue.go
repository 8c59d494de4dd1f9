package etcdlock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/fencerow/fencerow/driver"
)

var errSessionEnded = errors.New("the waiter's place in the queue is gone: its etcd lease ended or somebody removed the key")

// AcquireQueued implements [driver.Queuer]. The place in the queue is a key that is removed if the wait ends without a grant.
func (s *Service) AcquireQueued(ctx context.Context, r driver.Request) (driver.Grant, error) {
	if err := s.check(r.TTL); err != nil {
		return driver.Grant{}, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(s.background, func() { cancel(errClosed) })()
	w := &waiter{Service: s, request: r, key: s.keys.own(r.Resource, r.GrantID)}
	g, err := w.wait(ctx)
	if err == nil {
		return g, nil
	}
	w.leave(ctx)
	if ctx.Err() != nil {
		return driver.Grant{}, context.Cause(ctx)
	}
	return driver.Grant{}, s.failed("wait for", r.Resource, err)
}

// waiter is one place in a queue.
type waiter struct {
	*Service
	request driver.Request
	key     string
	created int64 // revision of its key
	value   string
	base    base // that stands in the value
	session session
}

func (w *waiter) wait(ctx context.Context) (driver.Grant, error) {
	if err := w.enqueue(ctx); err != nil {
		return driver.Grant{}, err
	}
	for {
		begin := time.Now()
		place, err := w.look(ctx)
		switch {
		case err != nil:
		case place.base.retired != "":
			return driver.Grant{}, &driver.RetiredError{Successor: place.base.retired}
		case place.ahead != "":
			err = w.watch(ctx, place.ahead)
		case place.base != w.base:
			err = w.rebase(ctx, place.base)
		default:
			return w.granted(w.request, place.own, w.session, begin)
		}
		if err != nil {
			if err := w.recover(ctx, err); err != nil {
				return driver.Grant{}, err
			}
		}
	}
}

// enqueue puts the key, unless it is there from an earlier request whose reply was lost.
func (w *waiter) enqueue(ctx context.Context) error {
	for {
		ses, err := w.sessions.enough(ctx, w.request.TTL)
		if err != nil {
			return err
		}
		w.session, w.base = ses, w.bases.get(w.request.Resource)
		w.value = encodeValue(w.request.Holder, w.base)
		resp, err := w.client.Txn(ctx).
			If(clientv3.Compare(clientv3.CreateRevision(w.key), "=", 0)).
			Then(clientv3.OpPut(w.key, w.value, clientv3.WithLease(ses.id))).
			Else(clientv3.OpGet(w.key)).
			Commit()
		switch {
		case err != nil && w.leaseIsGone(err, ses):
			continue
		case err != nil:
			w.doubt(err, ses)
			return err
		case resp.Succeeded:
			w.created = resp.Header.Revision
			return nil
		}
		kv := first(resp.Responses[0])
		if _, w.base, err = decodeValue(w.key, kv.Value); err != nil {
			return err
		}
		w.created, w.value = kv.CreateRevision, string(kv.Value)
		if kv.Lease == int64(ses.id) {
			return nil
		}
		moved, err := w.put(ctx, w.value)
		if err != nil || moved {
			return err
		}
	}
}

// put writes the key on the waiter's session, if it is still the one that was created.
func (w *waiter) put(ctx context.Context, value string) (done bool, err error) {
	resp, err := w.client.Txn(ctx).
		If(clientv3.Compare(clientv3.CreateRevision(w.key), "=", w.created)).
		Then(clientv3.OpPut(w.key, value, clientv3.WithLease(w.session.id))).
		Commit()
	if err != nil {
		w.doubt(err, w.session)
		return false, err
	}
	if resp.Succeeded {
		w.value = value
	}
	return resp.Succeeded, nil
}

// place is where a waiter stands in the queue, all of one moment.
type place struct {
	own   *mvccpb.KeyValue
	ahead string // the key before it, empty if it is first
	base  base
}

// look reads the waiter's place. To be first means nothing without the own key, so that is read with it.
func (w *waiter) look(ctx context.Context) (place, error) {
	resp, err := w.client.Txn(ctx).
		Then(clientv3.OpGet(w.key),
			clientv3.OpGet(w.keys.queue(w.request.Resource), append(clientv3.WithLastCreate(), clientv3.WithPrefix(),
				clientv3.WithMaxCreateRev(w.created-1), clientv3.WithKeysOnly())...),
			clientv3.OpGet(w.keys.base(w.request.Resource))).
		Commit()
	if err != nil {
		return place{}, err
	}
	p := place{own: first(resp.Responses[0])}
	if p.own == nil || p.own.CreateRevision != w.created {
		return place{}, errSessionEnded
	}
	if ahead := first(resp.Responses[1]); ahead != nil {
		p.ahead = string(ahead.Key)
	}
	p.base, err = w.learnBase(w.request.Resource, first(resp.Responses[2]))
	return p, err
}

// rebase writes a base that is newer than the key's into it, so that whoever reads the key sees the number that is granted.
func (w *waiter) rebase(ctx context.Context, newer base) error {
	done, err := w.put(ctx, encodeValue(w.request.Holder, newer))
	if done {
		w.base = newer
	}
	return err
}

// watch returns when the key ahead or the own key is gone, and from time to time so that everything is looked at again. The
// watches are open before the caller looks, which matters: one that begins at a revision of the past is served by etcd from
// a loop with a pause of 100 ms.
func (w *waiter) watch(ctx context.Context, ahead string) error {
	ctx, cancel := context.WithCancel(clientv3.WithRequireLeader(ctx))
	defer cancel()
	opts := []clientv3.OpOption{clientv3.WithFilterPut(), clientv3.WithCreatedNotify()}
	theirs, own := w.client.Watch(ctx, ahead, opts...), w.client.Watch(ctx, w.key, opts...)
	timer := time.NewTimer(w.request.TTL / 3)
	defer timer.Stop()
	for open := 0; ; {
		select {
		case event := <-theirs:
			if !event.Created || event.Err() != nil {
				return event.Err()
			}
			open++
		case event := <-own:
			if !event.Created || event.Err() != nil {
				return event.Err()
			}
			open++
		case <-timer.C:
			ses, err := w.sessions.restarted(ctx, w.request.TTL)
			if err != nil {
				return err
			}
			moved := ses.id != w.session.id
			if w.session = ses; moved {
				_, err = w.put(ctx, w.value)
			}
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
		if open == 2 {
			now, err := w.look(ctx)
			if err != nil || now.ahead != ahead {
				return err
			}
		}
	}
}

// pauseAfterError keeps a waiter from asking a server in trouble without end.
const pauseAfterError = 100 * time.Millisecond

// recover decides whether the wait goes on after an error. It does as long as the place in the queue may be there.
func (w *waiter) recover(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, errSessionEnded) || definite(err):
		return err
	case w.session.remaining(time.Now()) <= 0:
		return fmt.Errorf("%w; etcd could not be asked for a whole TTL: %w", errSessionEnded, err)
	}
	select {
	case <-time.After(pauseAfterError):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// leave takes the waiter out of the queue. If that fails its session is given up, so that the key goes with it.
func (w *waiter) leave(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
	defer cancel()
	if _, err := w.client.Delete(ctx, w.key); err != nil {
		w.sessions.retire(w.session.id, w.session.ttl)
	}
}
