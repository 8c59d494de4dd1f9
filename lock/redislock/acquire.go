package redislock

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/fencerow/fencerow/driver"
	"github.com/fencerow/fencerow/redisconn"
)

// Acquire implements [driver.LockService] with one request.
func (s *Service) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	if err := s.check(r.TTL); err != nil {
		return driver.Grant{}, err
	}
	g, err := s.acquire(ctx, r)
	if err != nil {
		return driver.Grant{}, failed("acquire", r.Resource, err)
	}
	return g, nil
}

func (s *Service) acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	k := s.keys(r.Resource)
	var after []redisconn.Command
	if s.opts.Replicas > 0 {
		after = []redisconn.Command{{"WAIT", strconv.Itoa(s.opts.Replicas), millis(s.opts.ReplicaTimeout)}}
	}
	for {
		replies, err := s.run(ctx, acquireScript, []string{k.lock, k.counter, k.run}, []string{r.GrantID, r.Holder, millis(r.TTL)}, after...)
		if err != nil {
			return driver.Grant{}, err
		}
		answer, err := texts(replies[0])
		if err != nil {
			return driver.Grant{}, err
		}
		switch answer[0] {
		case "granted":
			number, err := strconv.ParseInt(answer[1], 10, 64)
			if err != nil {
				return driver.Grant{}, fmt.Errorf("the counter %q is not ours: %w", k.counter, err)
			}
			g := driver.Grant{Resource: r.Resource, GrantID: r.GrantID, Number: number, TTL: r.TTL}
			return g, s.replicated(ctx, g, replies)
		case "held":
			return driver.Grant{}, heldError(answer)
		case "retired":
			return driver.Grant{}, &driver.RetiredError{Successor: answer[1]}
		case "promoted":
			if err := s.confirm(ctx, k, answer[1]); err != nil {
				return driver.Grant{}, err
			}
		default:
			return driver.Grant{}, fmt.Errorf("the server replied %q", answer)
		}
	}
}

// confirm raises the counter at a server that has taken over or was restarted, before anything is granted there.
func (s *Service) confirm(ctx context.Context, k keys, id string) error {
	mark := int64(0)
	if s.opts.HighWater != nil {
		var err error
		if mark, err = s.opts.HighWater.Highest(ctx, s.source); err != nil {
			return fmt.Errorf("another server has taken over and the high-water mark cannot be read: %w", err)
		}
	}
	_, err := s.run(ctx, confirmScript, []string{k.counter, k.run}, []string{id, strconv.FormatInt(mark, 10), strconv.Itoa(jump)})
	return err
}

// replicated gives a grant back that too few replicas have.
func (s *Service) replicated(ctx context.Context, g driver.Grant, replies []redisconn.Reply) error {
	if s.opts.Replicas == 0 {
		return nil
	}
	reply := replies[1]
	if have, ok := reply.Value.(int64); ok && have >= int64(s.opts.Replicas) {
		return nil
	}
	_ = s.Release(ctx, g) // or it ends with its TTL
	return fmt.Errorf("%v of %d replicas have confirmed the grant within %v (%w): is replication running?",
		reply.Value, s.opts.Replicas, s.opts.ReplicaTimeout, errors.Join(reply.Err))
}

func heldError(answer []string) error {
	number, _ := strconv.ParseInt(answer[1], 10, 64) // a hint
	left, _ := strconv.ParseInt(answer[3], 10, 64)
	return &driver.HeldError{Holder: answer[2], Number: number, Remaining: max(0, time.Duration(left)*time.Millisecond)}
}

// Renew implements [driver.LockService].
func (s *Service) Renew(ctx context.Context, g driver.Grant, ttl time.Duration) error {
	errs, err := s.RenewMany(ctx, []driver.Grant{g}, ttl)
	if err != nil {
		return err
	}
	return errs[0]
}

// RenewMany implements [driver.BatchRenewer] with one request, and in a cluster one for each part of the namespace.
func (s *Service) RenewMany(ctx context.Context, grants []driver.Grant, ttl time.Duration) ([]error, error) {
	if err := s.check(ttl); err != nil {
		return nil, err
	}
	byPart := map[int][]int{}
	for i, g := range grants {
		part := s.part(g.Resource)
		byPart[part] = append(byPart[part], i)
	}
	errs := make([]error, len(grants))
	for _, indexes := range byPart {
		if err := s.renewPart(ctx, grants, indexes, ttl, errs); err != nil {
			return nil, failed("renew", grants[indexes[0]].Resource, err)
		}
	}
	return errs, nil
}

func (s *Service) renewPart(ctx context.Context, grants []driver.Grant, indexes []int, ttl time.Duration, errs []error) error {
	var locks []string
	args := []string{millis(ttl)}
	for _, i := range indexes {
		locks, args = append(locks, s.keys(grants[i].Resource).lock), append(args, grants[i].GrantID)
	}
	replies, err := s.run(ctx, renewScript, locks, args)
	if err != nil {
		return err
	}
	answers, err := texts(replies[0])
	if err == nil && len(answers) != len(indexes) {
		err = fmt.Errorf("%d answers for %d grants", len(answers), len(indexes))
	}
	if err != nil {
		return err
	}
	for n, i := range indexes {
		if answers[n] != "1" {
			errs[i] = driver.ErrNotCurrent
		}
	}
	return nil
}

// Release implements [driver.LockService] with one request. It returns nil if this very grant was released in the last 10
// seconds and nobody followed.
func (s *Service) Release(ctx context.Context, g driver.Grant) error {
	if s.background.Err() != nil {
		return errClosed
	}
	if g.GrantID == "" {
		return driver.ErrNotCurrent
	}
	k := s.keys(g.Resource)
	replies, err := s.run(ctx, releaseScript, []string{k.lock, k.waiters},
		[]string{g.GrantID, s.channel(), g.Resource, millis(remembered)})
	if err != nil {
		return failed("release", g.Resource, err)
	}
	if replies[0].Value != int64(1) {
		return driver.ErrNotCurrent
	}
	return nil
}

// Seed implements [driver.Seeder]. It raises the counter that the resource shares with others.
func (s *Service) Seed(ctx context.Context, resource string, above int64) error {
	if s.background.Err() != nil {
		return errClosed
	}
	if above < 0 {
		return fmt.Errorf("redislock: seed %s: %d is negative, numbers start at 1", resource, above)
	}
	if _, err := s.run(ctx, seedScript, []string{s.keys(resource).counter}, []string{strconv.FormatInt(above, 10)}); err != nil {
		return failed("seed", resource, err)
	}
	return nil
}

// Retire implements [driver.Retirer]. The lock's key stays for ever.
func (s *Service) Retire(ctx context.Context, resource, successor string) (highest int64, err error) {
	if s.background.Err() != nil {
		return 0, errClosed
	}
	k := s.keys(resource)
	var answer []string
	replies, err := s.run(ctx, retireScript, []string{k.lock, k.counter}, []string{successor})
	if err == nil {
		answer, err = texts(replies[0])
	}
	switch {
	case err != nil:
	case answer[0] == "held":
		return 0, heldError(answer)
	case answer[0] == "other":
		return 0, &driver.RetiredError{Successor: answer[1]}
	default:
		highest, err = strconv.ParseInt(answer[1], 10, 64)
	}
	if err != nil {
		return 0, failed("retire", resource, err)
	}
	return highest, nil
}

// Inspect implements [driver.Inspector]. The number of a resource that nobody holds is the counter that it shares with others.
func (s *Service) Inspect(ctx context.Context, resource string) (driver.State, error) {
	if s.background.Err() != nil {
		return driver.State{}, errClosed
	}
	k := s.keys(resource)
	replies, err := s.run(ctx, inspectScript, []string{k.lock, k.counter}, nil)
	var answer []string
	if err == nil {
		answer, err = texts(replies[0])
	}
	var state driver.State
	if err == nil {
		state, err = stateOf(answer)
	}
	if err != nil {
		return driver.State{}, failed("inspect", resource, err)
	}
	return state, nil
}

// stateOf reads grant id, number, holder, milliseconds left and the counter.
func stateOf(answer []string) (state driver.State, err error) {
	number := answer[1]
	switch number {
	case "", "retired":
		state.Number, err = strconv.ParseInt(answer[4], 10, 64)
		if number != "" {
			state.RetiredTo = answer[2]
		}
		return state, err
	}
	left, err := strconv.ParseInt(answer[3], 10, 64)
	if err != nil {
		return driver.State{}, err
	}
	state = driver.State{Held: true, GrantID: answer[0], Holder: answer[2], Remaining: time.Duration(left) * time.Millisecond}
	state.Number, err = strconv.ParseInt(number, 10, 64)
	return state, err
}
