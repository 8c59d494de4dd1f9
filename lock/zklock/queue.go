package zklock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/fencerow/fencerow/driver"
)

var errSessionEnded = errors.New("the waiter's place in the queue is gone: its session ended or somebody removed the node")

// AcquireQueued implements [driver.Queuer]. The place in the queue is a node that is deleted if the wait ends without a grant.
func (s *Service) AcquireQueued(ctx context.Context, r driver.Request) (driver.Grant, error) {
	if err := s.check(r.TTL); err != nil {
		return driver.Grant{}, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(s.background, func() { cancel(errClosed) })()
	w := &waiter{Service: s, request: r}
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
	session int64
	name    string // of its node, within the queue

	own     <-chan zk.Event // fires when the own node is gone or the session has ended
	ahead   string          // the node that is watched
	changed <-chan zk.Event // fires when it is gone
	heard   time.Time       // when ZooKeeper answered last
}

// The pauses of a waiter: between two looks without an event, in case one was lost, and after an error.
const (
	lookAgain       = time.Second
	pauseAfterError = 100 * time.Millisecond
)

func (w *waiter) wait(ctx context.Context) (driver.Grant, error) {
	if g, ok, err := w.resume(ctx, w.request); ok || err != nil {
		return g, err
	}
	if err := w.enqueue(ctx); err != nil {
		return driver.Grant{}, err
	}
	w.heard = time.Now()
	for {
		// No answer for a whole session timeout means that the session, and the place with it, is gone.
		short, cancel := context.WithDeadline(ctx, w.heard.Add(w.timeout))
		sent := time.Now()
		g, granted, err := w.look(short)
		cancel()
		switch {
		case granted:
			return g, nil
		case ctx.Err() != nil:
			return driver.Grant{}, ctx.Err()
		case err == nil:
			w.heard = sent
			if err := w.pause(ctx, lookAgain); err != nil {
				return driver.Grant{}, err
			}
		case errors.Is(err, errSessionEnded), definite(err):
			return driver.Grant{}, err
		case time.Since(w.heard) >= w.timeout:
			return driver.Grant{}, fmt.Errorf("%w; ZooKeeper could not be asked for a whole session timeout: %w", errSessionEnded, err)
		default:
			if err := w.pause(ctx, pauseAfterError); err != nil {
				return driver.Grant{}, err
			}
		}
	}
}

// enqueue creates the node, and marks the resource as one that is waited for, so that an acquire does not overtake.
func (w *waiter) enqueue(ctx context.Context) error {
	st, err := w.state(ctx, w.request.Resource)
	if err != nil {
		return err
	}
	if st.retired != "" {
		return &driver.RetiredError{Successor: st.retired}
	}
	w.session = w.conn.SessionID()
	path := w.paths.waiter(w.request.Resource, w.request.GrantID, w.session)
	results, err := doOrLate(ctx, func() ([]zk.MultiResponse, error) {
		return w.conn.Multi(
			&zk.CreateRequest{Path: path, Acl: w.acl, Flags: zk.FlagEphemeral | zk.FlagSequence},
			&zk.SetDataRequest{Path: w.paths.dir(w.request.Resource), Data: []byte("w"), Version: -1})
	}, func(results []zk.MultiResponse, err error) {
		// The waiter has left, and may have looked for its node before this created it.
		if err := firstError(results, err); err == nil || !definite(err) {
			w.leaveLater()
		}
	})
	if err := firstError(results, err); err != nil {
		return err
	}
	w.known.forget(w.request.Resource)
	w.name = results[0].String[strings.LastIndexByte(results[0].String, '/')+1:]
	return w.watchOwn(ctx)
}

func (w *waiter) path(name string) string { return w.paths.queue(w.request.Resource) + "/" + name }

func (w *waiter) watchOwn(ctx context.Context) error {
	exists, changed, err := w.watch(ctx, w.path(w.name))
	if err == nil && !exists {
		err = errSessionEnded
	}
	w.own = changed
	return err
}

func (s *Service) watch(ctx context.Context, path string) (exists bool, changed <-chan zk.Event, err error) {
	type watched struct {
		exists  bool
		changed <-chan zk.Event
	}
	got, err := do(ctx, func() (watched, error) {
		exists, _, changed, err := s.conn.ExistsW(path)
		return watched{exists, changed}, err
	})
	return got.exists, got.changed, err
}

// look takes the lock if it is this waiter's turn and it is free. Otherwise it watches what is in the way.
//
// The list is read on the session that has created the node, so it has all that came before: those are older.
func (w *waiter) look(ctx context.Context) (g driver.Grant, granted bool, err error) {
	for {
		names, err := w.children(ctx, w.paths.queue(w.request.Resource))
		if err != nil {
			return driver.Grant{}, false, err
		}
		if !slices.Contains(names, w.name) || w.conn.SessionID() != w.session {
			return driver.Grant{}, false, errSessionEnded
		}
		ahead := w.predecessor(names)
		if ahead == "" {
			if g, granted, err = w.tryTake(ctx); granted || err != nil {
				return g, granted, err
			}
			ahead = w.paths.holder(w.request.Resource)
		}
		if ahead == w.ahead && w.changed != nil {
			return driver.Grant{}, false, nil // still watched
		}
		exists, changed, err := w.watch(ctx, ahead)
		if err != nil {
			return driver.Grant{}, false, err
		}
		if exists {
			w.ahead, w.changed = ahead, changed
			return driver.Grant{}, false, nil
		}
	}
}

// predecessor returns the path of the waiter before this one, empty if it is the first.
func (w *waiter) predecessor(names []string) string {
	own, _ := sequence(w.name)
	best, found := int32(0), ""
	for _, name := range names {
		n, ok := sequence(name)
		if ok && before(n, own) && (found == "" || before(best, n)) {
			best, found = n, w.path(name)
		}
	}
	return found
}

// tryTake makes the first in the queue the holder, which leaves the queue in the same step. It says no if the resource is held.
func (w *waiter) tryTake(ctx context.Context) (g driver.Grant, granted bool, err error) {
	st, err := w.readBase(ctx, w.request.Resource)
	if err != nil {
		return driver.Grant{}, false, err
	}
	if st.retired != "" {
		return driver.Grant{}, false, &driver.RetiredError{Successor: st.retired}
	}
	g, err = w.take(ctx, w.request, st, &zk.DeleteRequest{Path: w.path(w.name), Version: -1})
	switch {
	case err == nil:
		return g, true, nil
	case errors.Is(err, errStale): // look again
		return driver.Grant{}, false, nil
	case errors.Is(err, errOccupied):
		// Perhaps by this very grant, whose reply was lost.
		return w.resume(ctx, w.request)
	}
	return driver.Grant{}, false, err
}

// pause waits for an event, at most for the time given.
func (w *waiter) pause(ctx context.Context, limit time.Duration) error {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-w.changed:
		w.ahead, w.changed = "", nil
	case <-w.own:
		w.own = nil // the next look tells
	case <-timer.C:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// leave takes the waiter out of the queue. What cannot be deleted now is tried again.
func (w *waiter) leave(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
	defer cancel()
	names := []string{w.name}
	if w.name == "" { // the reply to its creation was lost
		var err error
		if names, err = w.ownNames(ctx); err != nil {
			go w.leaveLater()
			return
		}
	}
	for _, name := range names {
		if err := w.deleteAll(ctx, w.path(name)); err != nil && !errors.Is(err, zk.ErrNoNode) {
			w.keep(endAgain, w.path(name))
		}
	}
}

// ownNames finds the nodes of this wait by the grant's id in their names.
func (w *waiter) ownNames(ctx context.Context) ([]string, error) {
	names, err := w.children(ctx, w.paths.queue(w.request.Resource))
	if errors.Is(err, zk.ErrNoNode) {
		return nil, nil
	}
	prefix := w.paths.waiter(w.request.Resource, w.request.GrantID, w.session)
	prefix = prefix[strings.LastIndexByte(prefix, '/')+1:]
	return slices.DeleteFunc(names, func(name string) bool { return !strings.HasPrefix(name, prefix) }), err
}

// leaveLater looks for the node until ZooKeeper has answered: as long as the session lives nobody else removes it.
func (w *waiter) leaveLater() {
	for w.background.Err() == nil && w.conn.SessionID() == w.session {
		ctx, cancel := context.WithTimeout(w.background, endTimeout)
		names, err := w.ownNames(ctx)
		cancel()
		if err == nil {
			for _, name := range names {
				w.keep(0, w.path(name))
			}
			return
		}
		select {
		case <-time.After(endAgain):
		case <-w.background.Done():
		}
	}
}
