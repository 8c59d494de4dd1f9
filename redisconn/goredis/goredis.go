// Package goredis adapts github.com/redis/go-redis/v9 to Fencerow:
//
//	client := redis.NewFailoverClient(&redis.FailoverOptions{
//		MasterName: "main", SentinelAddrs: addrs, ContextTimeoutEnabled: true})
//	svc, err := redislock.Open(ctx, goredis.New(client), nil)
//
// Set ContextTimeoutEnabled: without it go-redis waits for its own ReadTimeout, again and again, when the context has ended.
//
// One server, a server behind Sentinel and a cluster are supported. The caller keeps and closes the client.
package goredis

import (
	"context"
	"errors"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/fencerow/fencerow/redisconn"
)

// New returns the client as a [redisconn.Conn].
func New(client redis.UniversalClient) redisconn.Conn { return conn{client} }

type conn struct{ client redis.UniversalClient }

// Do implements [redisconn.Conn].
func (c conn) Do(ctx context.Context, key string, commands ...redisconn.Command) ([]redisconn.Reply, error) {
	if len(commands) == 1 {
		reply, err := replyOf(c.client.Do(ctx, words(commands[0])...))
		if err != nil {
			return nil, err
		}
		return []redisconn.Reply{reply}, nil
	}
	replies, moved, err := c.pipeline(ctx, key, commands)
	if moved { // nothing was done there
		replies, _, err = c.pipeline(ctx, key, commands)
	}
	return replies, err
}

// pipeline sends the commands on one connection. In a cluster moved says that the server has given the key away since the client
// last asked.
func (c conn) pipeline(ctx context.Context, key string, commands []redisconn.Command) (replies []redisconn.Reply, moved bool, err error) {
	var pipe redis.Pipeliner
	cluster, isCluster := c.client.(*redis.ClusterClient)
	if isCluster {
		node, err := cluster.MasterForKey(ctx, key)
		if err != nil {
			return nil, false, err
		}
		pipe = node.Pipeline()
	} else {
		pipe = c.client.Pipeline()
	}
	var sent []*redis.Cmd
	for _, command := range commands {
		sent = append(sent, pipe.Do(ctx, words(command)...))
	}
	_, _ = pipe.Exec(ctx) // each command has its own error
	for _, cmd := range sent {
		reply, err := replyOf(cmd)
		if err != nil {
			return nil, false, err
		}
		replies = append(replies, reply)
	}
	if isCluster && replies[0].Err != nil && strings.HasPrefix(replies[0].Err.Error(), "MOVED ") {
		cluster.ReloadState(ctx)
		return replies, true, nil
	}
	return replies, false, nil
}

func words(command redisconn.Command) []any {
	args := make([]any, len(command))
	for i, word := range command {
		args[i] = word
	}
	return args
}

// replyOf tells an answer of the server, good or bad, from no answer.
func replyOf(cmd *redis.Cmd) (redisconn.Reply, error) {
	value, err := cmd.Result()
	var answered redis.Error
	switch {
	case err == nil:
		return redisconn.Reply{Value: value}, nil
	case errors.Is(err, redis.Nil):
		return redisconn.Reply{}, nil
	case errors.As(err, &answered):
		return redisconn.Reply{Err: err}, nil
	}
	return redisconn.Reply{}, err
}

// Subscribe implements [redisconn.Conn].
func (c conn) Subscribe(ctx context.Context, channel string, received func(payload string)) error {
	subscription := c.client.Subscribe(ctx, channel)
	defer subscription.Close()
	// The channel is kept alive with pings. Reading from the subscription itself goes on when ctx has ended.
	messages := subscription.Channel()
	for {
		select {
		case message, ok := <-messages:
			if !ok {
				return errors.New("the subscription was closed")
			}
			received(message.Payload)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
