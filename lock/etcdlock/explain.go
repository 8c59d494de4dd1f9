package etcdlock

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/fencerow/fencerow/driver"
)

// definite reports whether an error means that the request has changed nothing.
func definite(err error) bool {
	for _, refusal := range []error{rpctypes.ErrLeaseNotFound, rpctypes.ErrPermissionDenied, rpctypes.ErrUserEmpty,
		rpctypes.ErrInvalidAuthToken, rpctypes.ErrAuthFailed, rpctypes.ErrNoSpace, rpctypes.ErrTooManyOps,
		rpctypes.ErrTooManyRequests, rpctypes.ErrRequestTooLarge} {
		if errors.Is(err, refusal) {
			return true
		}
	}
	return false
}

// failed names the operation and the resource. Answers of the contract are left as they are.
func (s *Service) failed(what, resource string, err error) error {
	var held *driver.HeldError
	var retired *driver.RetiredError
	if errors.As(err, &held) || errors.As(err, &retired) {
		return err
	}
	return fmt.Errorf("etcdlock: %s %s: %w", what, resource, s.explain(err))
}

// explain adds the remedy to errors whose own text has none. It names the endpoints, which may not contain secrets.
func (s *Service) explain(err error) error {
	endpoints := strings.Join(s.client.Endpoints(), ", ")
	switch {
	case errors.Is(err, rpctypes.ErrPermissionDenied):
		return fmt.Errorf("the user needs a role with readwrite permission on the prefix %q: %w", s.keys.namespace+"/", err)
	case errors.Is(err, rpctypes.ErrUserEmpty):
		return fmt.Errorf("etcd demands a user: set Username and Password in the client's configuration: %w", err)
	case errors.Is(err, rpctypes.ErrAuthFailed), errors.Is(err, rpctypes.ErrInvalidAuthToken):
		return fmt.Errorf("etcd does not accept the client's user and password: %w", err)
	case errors.Is(err, rpctypes.ErrNoSpace):
		return fmt.Errorf("etcd has used up its space quota: compact and defragment it, then disarm the alarm: %w", err)
	case status.Code(err) == codes.Unavailable:
		return fmt.Errorf("no etcd answers at %s, or it has no leader: check the endpoints and the cluster's health: %w", endpoints, err)
	case errors.Is(err, context.DeadlineExceeded) || status.Code(err) == codes.DeadlineExceeded:
		return fmt.Errorf("no answer in time from etcd at %s: check the endpoints and the cluster's health: %w", endpoints, err)
	}
	return err
}

// The oldest version whose transactions compare ranges of keys.
const oldestMajor, oldestMinor = 3, 3

// checkVersion refuses a server that is too old. One that does not tell its version is given a try.
func (s *Service) checkVersion(ctx context.Context) error {
	endpoints := s.client.Endpoints()
	if len(endpoints) == 0 {
		return errors.New("the client has no endpoints")
	}
	var last error
	for _, endpoint := range endpoints {
		state, err := s.client.Status(ctx, endpoint)
		if err == nil {
			return tooOld(state.Version)
		}
		if definite(err) {
			return nil
		}
		last = err
	}
	return last
}

func tooOld(version string) error {
	major, rest, _ := strings.Cut(version, ".")
	minor, _, _ := strings.Cut(rest, ".")
	x, err1 := strconv.Atoi(major)
	y, err2 := strconv.Atoi(minor)
	if err1 == nil && err2 == nil && (x < oldestMajor || x == oldestMajor && y < oldestMinor) {
		return fmt.Errorf("the server is etcd %s, %d.%d or later is needed: upgrade it", version, oldestMajor, oldestMinor)
	}
	return nil
}
