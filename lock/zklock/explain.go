package zklock

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/fencerow/fencerow/driver"
)

// definite reports whether an error means that the request has changed nothing in the present session.
func definite(err error) bool {
	for _, refusal := range []error{zk.ErrNoAuth, zk.ErrAuthFailed, zk.ErrInvalidACL, zk.ErrBadArguments, zk.ErrInvalidPath,
		zk.ErrNoNode, zk.ErrNodeExists, zk.ErrBadVersion} {
		if errors.Is(err, refusal) {
			return true
		}
	}
	var held *driver.HeldError
	var retired *driver.RetiredError
	return errors.As(err, &held) || errors.As(err, &retired)
}

// brokenConnection reports whether an error is that of a connection, whose session may live.
func brokenConnection(err error) bool {
	return errors.Is(err, zk.ErrConnectionClosed) || errors.Is(err, zk.ErrNoServer)
}

// failed names the operation and the resource. Answers of the contract are left as they are.
func (s *Service) failed(what, resource string, err error) error {
	var held *driver.HeldError
	var retired *driver.RetiredError
	if errors.As(err, &held) || errors.As(err, &retired) {
		return err
	}
	return fmt.Errorf("zklock: %s %s: %w", what, resource, s.explain(err))
}

// explain adds the remedy to errors whose own text has none.
func (s *Service) explain(err error) error {
	switch text := err.Error(); {
	case errors.Is(err, zk.ErrNoAuth):
		return fmt.Errorf("the ACLs under %s do not permit it: set AuthScheme and AuthCredentials to a user with all permissions there: %w",
			s.paths.root, err)
	case errors.Is(err, zk.ErrAuthFailed):
		return fmt.Errorf("ZooKeeper does not accept AuthScheme and AuthCredentials: %w", err)
	case errors.Is(err, zk.ErrInvalidACL):
		return fmt.Errorf("ZooKeeper does not accept the ACL of the options; an ACL for \"auth\" needs AuthScheme and AuthCredentials: %w", err)
	case strings.Contains(text, "first record does not look like a TLS handshake"):
		return fmt.Errorf("ZooKeeper speaks plain text and the Dialer TLS: use the secure client port, or leave the Dialer out: %w", err)
	case strings.Contains(text, "x509:"), strings.Contains(text, "tls:"):
		return fmt.Errorf("the certificates of the Dialer and of ZooKeeper do not fit: %w", err)
	case errors.Is(err, zk.ErrSessionExpired):
		return fmt.Errorf("the session has expired, its grants are gone: %w", err)
	case errors.Is(err, zk.ErrNoServer), errors.Is(err, zk.ErrConnectionClosed), errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("no ZooKeeper answers, or it has no quorum, or demands TLS: check the addresses and the ensemble's health: %w", err)
	}
	return err
}
