// Package redisconn is what Fencerow needs of a Redis client, so that the packages that use Redis depend on none.
//
// Packages redisconn/goredis and redisconn/rueidis adapt the two clients; each is a module of its own.
package redisconn

import "context"

// Conn sends commands to Redis: a server, one behind Sentinel, or a cluster. It is safe for concurrent use.
type Conn interface {
	// Do sends the commands one after the other on one connection to the server that has the key, and returns one reply for
	// each. The error means that the outcome of all is unknown. In a cluster every command that names keys names key first.
	//
	// A client may send a command again whose reply was lost.
	Do(ctx context.Context, key string, commands ...Command) ([]Reply, error)

	// Subscribe calls received for each message of the channel, until ctx ends or the subscription breaks. Messages may be lost.
	Subscribe(ctx context.Context, channel string, received func(payload string)) error
}

// Command is the words of one command.
type Command []string

// Reply is what the server answered to one command.
type Reply struct {
	// Value is nil, a string, an int64 or a []any of these.
	Value any
	// Err is an error that the server answered, with the server's words in its text, such as "NOSCRIPT ...".
	Err error
}
