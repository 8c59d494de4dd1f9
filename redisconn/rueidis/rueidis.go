// Package rueidis adapts github.com/redis/rueidis to Fencerow:
//
//	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{"10.0.0.1:6379"}})
//	svc, err := redislock.Open(ctx, adapter.New(client), nil)
//
// It allocates a tenth of what go-redis does and sends the commands of many goroutines together. One server, a server behind
// Sentinel and a cluster are supported. The caller keeps and closes the client.
package rueidis

import (
	"context"
	"fmt"
	"slices"

	"github.com/redis/rueidis"

	"github.com/fencerow/fencerow/redisconn"
)

// New returns the client as a [redisconn.Conn].
func New(client rueidis.Client) redisconn.Conn { return conn{client} }

type conn struct{ client rueidis.Client }

// Do implements [redisconn.Conn].
func (c conn) Do(ctx context.Context, key string, commands ...redisconn.Command) ([]redisconn.Reply, error) {
	if len(commands) == 1 {
		reply, err := replyOf(c.client.Do(ctx, build(c.client.B(), key, commands[0])))
		if err != nil {
			return nil, err
		}
		return []redisconn.Reply{reply}, nil
	}
	var replies []redisconn.Reply
	err := c.client.Dedicated(func(one rueidis.DedicatedClient) error {
		var built []rueidis.Completed
		for _, command := range commands {
			built = append(built, build(one.B(), key, command))
		}
		for _, result := range one.DoMulti(ctx, built...) {
			reply, err := replyOf(result)
			if err != nil {
				return err
			}
			replies = append(replies, reply)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return replies, nil
}

// build tells the client which word is the key, from which it knows the server.
func build(b rueidis.Builder, key string, command redisconn.Command) rueidis.Completed {
	i := slices.Index(command, key)
	if i <= 0 {
		return b.Arbitrary(command...).Build()
	}
	return b.Arbitrary(command[:i]...).Keys(key).Args(command[i+1:]...).Build()
}

// replyOf tells an answer of the server, good or bad, from no answer.
func replyOf(result rueidis.RedisResult) (redisconn.Reply, error) {
	message, err := result.ToMessage()
	if rueidis.IsRedisNil(err) {
		return redisconn.Reply{}, nil
	}
	if answered, ok := rueidis.IsRedisErr(err); ok {
		return redisconn.Reply{Err: answered}, nil
	}
	if err != nil {
		return redisconn.Reply{}, err
	}
	value, err := message.ToAny()
	if err != nil {
		return redisconn.Reply{}, fmt.Errorf("reply of a type that no command of ours has: %w", err)
	}
	return redisconn.Reply{Value: value}, nil
}

// Subscribe implements [redisconn.Conn].
func (c conn) Subscribe(ctx context.Context, channel string, received func(payload string)) error {
	return c.client.Receive(ctx, c.client.B().Subscribe().Channel(channel).Build(), func(message rueidis.PubSubMessage) {
		received(message.Message)
	})
}
