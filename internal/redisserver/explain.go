// Package redisserver is what the lock service and the fence in Redis share: scripts, what a server says of itself, and remedies for
// its errors.
package redisserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
)

// Refusal is an error that the server answered, so that the command has had no effect.
type Refusal struct{ Err error }

func (r Refusal) Error() string { return r.Err.Error() }

// Unwrap returns the client's error.
func (r Refusal) Unwrap() error { return r.Err }

// remedies are for what the server answers, by the first word or words of the answer.
var remedies = []struct{ answer, remedy string }{
	{"READONLY", "the server is a read-only replica: connect to the master, for example through Sentinel"},
	{"NOAUTH", "Redis demands a password: set it in the client's options"},
	{"WRONGPASS", "Redis does not accept the client's user and password"},
	{"NOPERM", "the user needs permission for the keys and channels of the namespace and for EVAL, EVALSHA and INFO"},
	{"CROSSSLOT", "the keys of a resource are not in one hash slot, which is a mistake of this package: please report it"},
	{"LOADING", "Redis is still loading its data: try again"},
	{"MASTERDOWN", "the replica has lost its master: connect to the master"},
	{"CLUSTERDOWN", "the cluster does not serve all slots: look at CLUSTER INFO"},
	{"OOM", "Redis has used up its memory: raise maxmemory or free some"},
	{"MISCONF", "Redis refuses writes because it cannot save to disk: look at its log"},
	{"NOREPLICAS", "too few replicas are connected for min-replicas-to-write"},
	{"ERR increment or decrement would overflow", "the numbers are used up"},
	{"ERR value is not an integer", "the counter holds something that is not ours: use another namespace"},
	{"WRONGTYPE", "a key of the namespace holds something that is not ours: use another namespace"},
}

// Explain adds the remedy to errors whose own text has none.
func Explain(err error) error {
	for _, r := range remedies {
		if strings.Contains(err.Error(), r.answer) {
			return fmt.Errorf("%s: %w", r.remedy, err)
		}
	}
	var network net.Error
	switch text := err.Error(); {
	case strings.Contains(text, "first record does not look like a TLS handshake"):
		return fmt.Errorf("the server speaks plain text and the client TLS: leave the client's TLS out, or use Redis's tls-port: %w", err)
	case strings.Contains(text, "x509:"), strings.Contains(text, "tls:"):
		return fmt.Errorf("the certificates of the client and of Redis do not fit: %w", err)
	case errors.Is(err, io.EOF):
		return fmt.Errorf("what listens there closes the connection: check the address, and whether it demands TLS: %w", err)
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("no answer in time from Redis: check the address, and whether it demands TLS: %w", err)
	case errors.As(err, &network):
		return fmt.Errorf("no Redis answers: check the address, and whether it demands TLS: %w", err)
	}
	return err
}
