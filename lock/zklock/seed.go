package zklock

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/go-zookeeper/zk"

	"github.com/fencerow/fencerow/driver"
)

// maxSeed leaves room for the transaction ids above the base, which have 64 bits of their own but begin with the election's number.
const maxSeed = math.MaxInt64 - 1<<56

// Seed implements [driver.Seeder]: it makes the resource's base the given number, if that is more, so that every number after
// it is greater whatever the transaction id. Numbers jump further than they must, which costs nothing.
func (s *Service) Seed(ctx context.Context, resource string, above int64) error {
	if s.background.Err() != nil {
		return errClosed
	}
	if above < 0 || above > maxSeed {
		return fmt.Errorf("zklock: seed %s: %d must be from 0 to %d", resource, above, int64(maxSeed))
	}
	if err := s.seed(ctx, resource, above); err != nil {
		return s.failed("seed", resource, err)
	}
	return nil
}

func (s *Service) seed(ctx context.Context, resource string, above int64) error {
	for range attempts {
		s.known.forget(resource)
		st, err := s.state(ctx, resource)
		if err != nil || st.base >= above {
			return err
		}
		_, err = do(ctx, func() (*zk.Stat, error) {
			return s.conn.Set(s.paths.base(resource), encodeBase(above, st.retired), st.baseVersion)
		})
		if !errors.Is(err, zk.ErrBadVersion) {
			s.known.forget(resource)
			return err
		}
	}
	return errChanges
}

func encodeBase(base int64, retired string) []byte {
	text, _ := json.Marshal(baseValue{strconv.FormatInt(base, 10), retired}) // strings
	return text
}

// Retire implements [driver.Retirer].
func (s *Service) Retire(ctx context.Context, resource, successor string) (highest int64, err error) {
	if s.background.Err() != nil {
		return 0, errClosed
	}
	if highest, err = s.retire(ctx, resource, successor); err != nil {
		return 0, s.failed("retire", resource, err)
	}
	return highest, nil
}

func (s *Service) retire(ctx context.Context, resource, successor string) (int64, error) {
	holder := s.paths.holder(resource)
	for range attempts {
		s.known.forget(resource)
		st, err := s.state(ctx, resource)
		if err != nil {
			return 0, err
		}
		if st.retired != "" && st.retired != successor {
			return 0, &driver.RetiredError{Successor: st.retired}
		}
		if st.waiting {
			if err := s.passQueue(ctx, driver.Request{Resource: resource}, st); err != nil {
				return 0, err
			}
			continue
		}
		// Creating the holder's node shows that there is none.
		results, err := s.multi(ctx,
			&zk.CreateRequest{Path: holder, Acl: s.acl, Flags: zk.FlagEphemeral},
			&zk.DeleteRequest{Path: holder, Version: -1},
			&zk.CheckVersionRequest{Path: s.paths.dir(resource), Version: st.dirVersion},
			&zk.SetDataRequest{Path: s.paths.base(resource), Data: encodeBase(st.base, successor), Version: st.baseVersion})
		switch err := firstError(results, err); {
		case err == nil:
			s.known.forget(resource)
			return add(st.base, results[3].Stat.Mzxid)
		case errors.Is(err, zk.ErrNodeExists):
			if held := s.heldError(ctx, resource); held != nil {
				return 0, held
			}
		case !errors.Is(err, zk.ErrBadVersion):
			return 0, err
		}
	}
	return 0, errChanges
}

// Inspect implements [driver.Inspector]. The number of a resource that nobody holds is one that no grant so far exceeds, and the
// time that is left of a lease is not known: it is the session's.
func (s *Service) Inspect(ctx context.Context, resource string) (driver.State, error) {
	if s.background.Err() != nil {
		return driver.State{}, errClosed
	}
	state, err := s.inspect(ctx, resource)
	if err != nil {
		return driver.State{}, s.failed("inspect", resource, err)
	}
	return state, nil
}

func (s *Service) inspect(ctx context.Context, resource string) (driver.State, error) {
	// So that what other sessions have done is seen.
	if _, err := do(ctx, func() (string, error) { return s.conn.Sync(s.paths.locks()) }); err != nil {
		return driver.State{}, err
	}
	at, err := s.get(ctx, s.paths.holder(resource))
	if errors.Is(err, zk.ErrNoNode) {
		return s.inspectFree(ctx, resource)
	}
	if err != nil {
		return driver.State{}, err
	}
	value, err := decodeHolder(at.data)
	if err != nil {
		return driver.State{}, err
	}
	number, err := value.number(at.stat.Czxid)
	return driver.State{Number: number, Held: true, GrantID: value.GrantID, Holder: value.Holder}, err
}

func (s *Service) inspectFree(ctx context.Context, resource string) (driver.State, error) {
	st, err := s.readBase(ctx, resource)
	if errors.Is(err, zk.ErrNoNode) {
		return driver.State{}, nil
	}
	if err != nil {
		return driver.State{}, err
	}
	dir, err := s.get(ctx, s.paths.dir(resource))
	if err != nil {
		return driver.State{}, err
	}
	// Every grant has added a child.
	number, err := add(st.base, dir.stat.Pzxid)
	return driver.State{Number: number, RetiredTo: st.retired}, err
}
