package zklock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/fencerow/fencerow/driver"
)

// Acquire implements [driver.LockService] with one request, if the resource is free and was used before.
func (s *Service) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	if err := s.check(r.TTL); err != nil {
		return driver.Grant{}, err
	}
	if err := ctx.Err(); err != nil {
		return driver.Grant{}, err
	}
	g, err := s.acquire(ctx, r)
	for limit := time.Now().Add(s.timeout); err != nil && brokenConnection(err) && time.Now().Before(limit); {
		// The client library connects anew, in the same session if it is quick enough. What the request has done is found by its
		// grant id.
		if err := sleep(ctx, pauseAfterError); err != nil {
			return driver.Grant{}, s.failed("acquire", r.Resource, err)
		}
		g, err = s.acquire(ctx, r)
	}
	if err != nil {
		return driver.Grant{}, s.failed("acquire", r.Resource, err)
	}
	return g, nil
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// attempts bounds how often an acquire looks again because the resource has changed meanwhile.
const attempts = 20

var errChanges = errors.New("the resource changes all the time, try again")

func (s *Service) acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	for range attempts {
		st, err := s.state(ctx, r.Resource)
		switch {
		case err != nil:
			return driver.Grant{}, err
		case st.retired != "":
			return driver.Grant{}, &driver.RetiredError{Successor: st.retired}
		case st.waiting:
			if err := s.passQueue(ctx, r, st); err != nil {
				if g, ok, resumeErr := s.resume(ctx, r); ok || resumeErr != nil {
					return g, resumeErr
				}
				return driver.Grant{}, err
			}
			continue
		}
		dir := &zk.CheckVersionRequest{Path: s.paths.dir(r.Resource), Version: st.dirVersion}
		g, err := s.take(ctx, r, st, dir)
		if !errors.Is(err, errOccupied) {
			if errors.Is(err, errStale) {
				continue
			}
			return g, err
		}
		g, ok, err := s.resume(ctx, r)
		if ok || err != nil {
			return g, err
		}
		if held := s.heldError(ctx, r.Resource); held != nil {
			return driver.Grant{}, held
		}
	}
	return driver.Grant{}, errChanges
}

// passQueue lets an acquire by if nobody waits any more. Otherwise it is a [*driver.HeldError], so that nobody overtakes.
func (s *Service) passQueue(ctx context.Context, r driver.Request, st state) error {
	waiters, err := s.children(ctx, s.paths.queue(r.Resource))
	if err != nil {
		return err
	}
	if len(waiters) > 0 {
		if held := s.heldError(ctx, r.Resource); held != nil {
			return held
		}
		return &driver.HeldError{Holder: "the first in the queue"}
	}
	s.known.forget(r.Resource)
	// A waiter that comes now changes the version, and this fails.
	_, err = do(ctx, func() (*zk.Stat, error) { return s.conn.Set(s.paths.dir(r.Resource), nil, st.dirVersion) })
	if errors.Is(err, zk.ErrBadVersion) {
		return nil
	}
	return err
}

func (s *Service) children(ctx context.Context, path string) ([]string, error) {
	return do(ctx, func() ([]string, error) {
		names, _, err := s.conn.Children(path)
		return names, err
	})
}

var (
	errStale    = errors.New("what is known of the resource is out of date")
	errOccupied = errors.New("the resource is held")
)

// take creates the nodes of a grant, if what the state says is still so, and the operations given succeed. The number is the
// zxid of that transaction: the stat that setting the holder's data returns has it.
func (s *Service) take(ctx context.Context, r driver.Request, st state, more ...any) (driver.Grant, error) {
	session := s.conn.SessionID()
	holder, name := s.paths.holder(r.Resource), s.paths.grant(r.Resource, r.GrantID, session)
	value := holderValue{GrantID: r.GrantID, Holder: r.Holder, Session: sessionName(session), Base: strconv.FormatInt(st.base, 10)}
	ops := []any{
		&zk.CreateRequest{Path: holder, Acl: s.acl, Flags: zk.FlagEphemeral},
		&zk.SetDataRequest{Path: holder, Data: value.encode(), Version: -1},
		&zk.CreateRequest{Path: name, Acl: s.acl, Flags: zk.FlagEphemeral},
		&zk.CheckVersionRequest{Path: s.paths.base(r.Resource), Version: st.baseVersion},
	}
	results, err := s.multi(ctx, append(ops, more...)...)
	switch err := firstError(results, err); {
	case err == nil:
	case errors.Is(err, zk.ErrBadVersion), errors.Is(err, zk.ErrNoNode):
		s.known.forget(r.Resource)
		return driver.Grant{}, errStale
	case errors.Is(err, zk.ErrNodeExists):
		return driver.Grant{}, errOccupied
	default:
		if !definite(err) {
			s.keep(r.TTL, name, holder) // they may be there: they end with the TTL
		}
		return driver.Grant{}, err
	}
	s.keep(r.TTL, name, holder)
	stat := results[1].Stat
	if stat.EphemeralOwner != session { // the session ended just now, and the nodes are in the next one under the old one's name
		_ = s.deleteAll(ctx, name, holder)
		return driver.Grant{}, errors.New("the session ended during the request, try again")
	}
	number, err := value.number(stat.Czxid)
	if err != nil {
		return driver.Grant{}, err
	}
	return driver.Grant{Resource: r.Resource, GrantID: r.GrantID, Number: number, TTL: s.ttl(r.TTL)}, nil
}

// resume returns the grant that the resource is held under if it is the requested one: the reply to an earlier request was lost. A
// grant of another session, which may be about to end, moves to the present one and keeps its number.
func (s *Service) resume(ctx context.Context, r driver.Request) (g driver.Grant, ok bool, err error) {
	for range attempts {
		at, err := s.get(ctx, s.paths.holder(r.Resource))
		if errors.Is(err, zk.ErrNoNode) {
			return driver.Grant{}, false, nil
		}
		if err != nil {
			return driver.Grant{}, false, err
		}
		value, err := decodeHolder(at.data)
		if err != nil || value.GrantID != r.GrantID {
			return driver.Grant{}, false, err
		}
		number, err := value.number(at.stat.Czxid)
		if err != nil {
			return driver.Grant{}, false, err
		}
		session := s.conn.SessionID()
		name := s.paths.grant(r.Resource, r.GrantID, session)
		done, ok := s.owned.beginRenewal(name)
		if !ok {
			return driver.Grant{}, false, nil // its TTL is over
		}
		defer done()
		if at.stat.EphemeralOwner != session || value.Session != sessionName(session) {
			err = s.move(ctx, r, at, value, number, session)
			if errors.Is(err, zk.ErrNoNode) || errors.Is(err, zk.ErrBadVersion) || errors.Is(err, zk.ErrNodeExists) {
				continue
			}
			if err != nil {
				return driver.Grant{}, false, err
			}
		}
		s.keep(r.TTL, name, s.paths.holder(r.Resource))
		return driver.Grant{Resource: r.Resource, GrantID: r.GrantID, Number: number, TTL: s.ttl(r.TTL)}, true, nil
	}
	return driver.Grant{}, false, errChanges
}

// move makes the nodes of a grant anew, in the present session.
func (s *Service) move(ctx context.Context, r driver.Request, at node, value holderValue, number, session int64) error {
	holder := s.paths.holder(r.Resource)
	before := s.paths.dir(r.Resource) + "/" + grantName(value)
	name := s.paths.grant(r.Resource, r.GrantID, session)
	value.Session, value.Number = sessionName(session), strconv.FormatInt(number, 10)
	results, err := s.multi(ctx,
		&zk.DeleteRequest{Path: before, Version: -1},
		&zk.DeleteRequest{Path: holder, Version: at.stat.Version},
		&zk.CreateRequest{Path: holder, Acl: s.acl, Flags: zk.FlagEphemeral},
		&zk.SetDataRequest{Path: holder, Data: value.encode(), Version: -1},
		&zk.CreateRequest{Path: name, Acl: s.acl, Flags: zk.FlagEphemeral})
	err = firstError(results, err)
	if err != nil && !definite(err) {
		s.keep(r.TTL, name, holder)
	}
	return err
}

// heldError names the holder. It is nil if there is none now.
func (s *Service) heldError(ctx context.Context, resource string) error {
	at, err := s.get(ctx, s.paths.holder(resource))
	if errors.Is(err, zk.ErrNoNode) {
		return nil
	}
	if err != nil {
		return err
	}
	held := &driver.HeldError{Holder: "unknown"}
	if value, err := decodeHolder(at.data); err == nil {
		held.Holder = value.Holder
		held.Number, _ = value.number(at.stat.Czxid) // a hint
	}
	return held
}

// Renew implements [driver.LockService].
func (s *Service) Renew(ctx context.Context, g driver.Grant, ttl time.Duration) error {
	errs, err := s.RenewMany(ctx, []driver.Grant{g}, ttl)
	if err != nil {
		return err
	}
	return errs[0]
}

// maxChecks keeps a request well below ZooKeeper's limit of one megabyte.
const maxChecks = 500

// RenewMany implements [driver.BatchRenewer]. One request for each 500 grants asks whether their nodes are there, through the
// leader, and lets the ensemble hear from the session.
func (s *Service) RenewMany(ctx context.Context, grants []driver.Grant, ttl time.Duration) ([]error, error) {
	if err := s.check(ttl); err != nil {
		return nil, err
	}
	errs := make([]error, len(grants))
	indexes := make([]int, len(grants))
	for i := range grants {
		indexes[i] = i
	}
	for chunk := range slices.Chunk(indexes, maxChecks) {
		if err := s.renew(ctx, grants, chunk, ttl, errs); err != nil {
			return nil, s.failed("renew", grants[chunk[0]].Resource, err)
		}
	}
	return errs, nil
}

func (s *Service) renew(ctx context.Context, grants []driver.Grant, indexes []int, ttl time.Duration, errs []error) error {
	session := s.conn.SessionID()
	var running []int
	for _, i := range indexes {
		done, ok := s.owned.beginRenewal(s.paths.grant(grants[i].Resource, grants[i].GrantID, session))
		if !ok {
			errs[i] = driver.ErrNotCurrent
			continue
		}
		defer done()
		running = append(running, i)
	}
	indexes = running
	for len(indexes) > 0 {
		var ops []any
		for _, i := range indexes {
			ops = append(ops, &zk.CheckVersionRequest{Path: s.paths.grant(grants[i].Resource, grants[i].GrantID, session), Version: -1})
		}
		results, err := s.multi(ctx, ops...)
		if err == nil {
			for _, i := range indexes {
				g := grants[i]
				s.keep(ttl, s.paths.grant(g.Resource, g.GrantID, session), s.paths.holder(g.Resource))
			}
			return nil
		}
		// The first that has no node has stopped the rest.
		stop := slices.IndexFunc(results, func(r zk.MultiResponse) bool { return errors.Is(r.Error, zk.ErrNoNode) })
		if stop < 0 {
			return err
		}
		i := indexes[stop]
		s.owned.forget(s.paths.grant(grants[i].Resource, grants[i].GrantID, session))
		if errs[i], err = s.renewElsewhere(ctx, grants[i], ttl); err != nil {
			return err
		}
		indexes = slices.Delete(slices.Clone(indexes), stop, stop+1)
	}
	return nil
}

// renewElsewhere renews a grant that was made in another session, for example through another handle, by moving it to this one.
func (s *Service) renewElsewhere(ctx context.Context, g driver.Grant, ttl time.Duration) (answer, err error) {
	_, ok, err := s.resume(ctx, driver.Request{Resource: g.Resource, GrantID: g.GrantID, TTL: ttl})
	if err != nil {
		return nil, fmt.Errorf("look for a grant of another session: %w", err)
	}
	if !ok {
		return driver.ErrNotCurrent, nil
	}
	return nil, nil
}

// Release implements [driver.LockService] with one request, if the grant is of the present session.
func (s *Service) Release(ctx context.Context, g driver.Grant) error {
	if s.background.Err() != nil {
		return errClosed
	}
	name, holder := s.paths.grant(g.Resource, g.GrantID, s.conn.SessionID()), s.paths.holder(g.Resource)
	err := s.deleteAll(ctx, name, holder)
	if errors.Is(err, zk.ErrNoNode) {
		s.owned.forget(name)
		return s.releaseElsewhere(ctx, g)
	}
	if err != nil {
		return s.failed("release", g.Resource, err) // its timer stays: it goes with its TTL at the latest
	}
	s.owned.forget(name)
	return nil
}

// releaseElsewhere releases a grant that was made in another session.
func (s *Service) releaseElsewhere(ctx context.Context, g driver.Grant) error {
	at, err := s.get(ctx, s.paths.holder(g.Resource))
	if errors.Is(err, zk.ErrNoNode) {
		return driver.ErrNotCurrent
	}
	var value holderValue
	if err == nil {
		value, err = decodeHolder(at.data)
	}
	if err == nil && (value.GrantID != g.GrantID || g.GrantID == "") {
		return driver.ErrNotCurrent
	}
	if err == nil {
		err = s.deleteAll(ctx, s.paths.dir(g.Resource)+"/"+grantName(value), s.paths.holder(g.Resource))
	}
	switch {
	case errors.Is(err, zk.ErrNoNode):
		return driver.ErrNotCurrent
	case err != nil:
		return s.failed("release", g.Resource, err)
	}
	return nil
}
