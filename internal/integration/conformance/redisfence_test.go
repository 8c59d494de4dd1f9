package conformance

import (
	"context"
	"crypto/rand"
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/fencerow/fencerow"
	"github.com/fencerow/fencerow/fence/redisfence"
	"github.com/fencerow/fencerow/fencerowtest"
	"github.com/fencerow/fencerow/internal/integration/servers"
	"github.com/fencerow/fencerow/internal/integration/wire"
	"github.com/fencerow/fencerow/redisconn"
)

func TestRedisFenceConforms(t *testing.T) {
	cluster := func(t *testing.T) []string { return servers.Start(t, servers.StartRedisCluster).Endpoints() }
	single := func(t *testing.T) []string { return []string{servers.Redis(t)} }
	for name, c := range map[string]struct {
		dial      dialRedis
		endpoints func(*testing.T) []string
	}{
		"go-redis": {dialGoRedis, single}, "rueidis": {dialRueidis, single},
		"go-redis, cluster": {dialGoRedisCluster, cluster}, "rueidis, cluster": {dialRueidis, cluster},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn, client, err := c.dial(c.endpoints(t)...)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = client.Close() })
			namespace := "kit:" + rand.Text()
			openOver := func(ctx context.Context, over redisconn.Conn) (fencerowtest.Fence, error) {
				fence, err := redisfence.Open(ctx, over, &redisfence.Options{Namespace: namespace, MaxJump: 1 << 62})
				return redisFence{fence, conn}, err
			}
			var openWired func(context.Context) (fencerowtest.Fence, fencerowtest.Wire, error)
			if !strings.Contains(name, "cluster") { // whose clients go to the addresses that the servers name
				openWired = func(ctx context.Context) (fencerowtest.Fence, fencerowtest.Wire, error) {
					w := wire.Start(t, c.endpoints(t)[0])
					over, client, err := c.dial(w.Addr())
					if err != nil {
						return nil, nil, err
					}
					t.Cleanup(func() { _ = client.Close() })
					fence, err := openOver(ctx, over)
					return fence, w, err
				}
			}
			fencerowtest.TestFence(t, fencerowtest.FenceHarness{
				Name:      "redisfence over " + name,
				Open:      func(ctx context.Context) (fencerowtest.Fence, error) { return openOver(ctx, conn) },
				OpenWired: openWired,
				NewResource: func(context.Context) (fencerow.Resource, error) {
					return fencerow.Resource("kit/{" + rand.Text() + "}%"), nil
				},
				Features: fencerowtest.Features{Claims: true, Steps: true, Sources: true, MaxJump: 1 << 62},
			})
		})
	}
}

// redisFence keeps the value in a string.
type redisFence struct {
	fence *redisfence.Fence
	conn  redisconn.Conn
}

func (f redisFence) key(r fencerow.Resource) string { return f.fence.Key(r, "value") }

func (f redisFence) Claim(ctx context.Context, s fencerow.Stamp, r fencerow.Resource) (int64, error) {
	replies, err := f.fence.Claim(ctx, s, r, redisconn.Command{"GET", f.key(r)})
	if err != nil {
		return 0, err
	}
	return number(replies[0])
}

func number(reply redisconn.Reply) (int64, error) {
	text, ok := reply.Value.(string)
	if !ok {
		return 0, nil // never written
	}
	return strconv.ParseInt(text, 10, 64)
}

func (f redisFence) Write(ctx context.Context, s fencerow.Stamp, r fencerow.Resource, value int64) error {
	_, err := f.fence.Write(ctx, s, r, redisconn.Command{"SET", f.key(r), strconv.FormatInt(value, 10)})
	return err
}

// Delete implements [fencerowtest.Deleter].
func (f redisFence) Delete(ctx context.Context, s fencerow.Stamp, r fencerow.Resource) error {
	_, err := f.fence.Write(ctx, s, r, redisconn.Command{"DEL", f.key(r)})
	return err
}

// Transfer implements [fencerowtest.Transferrer].
func (f redisFence) Transfer(ctx context.Context, s fencerow.Stamp, r fencerow.Resource, amount int64) error {
	by := strconv.FormatInt(amount, 10)
	_, err := f.fence.Write(ctx, s, r, redisconn.Command{"DECRBY", f.key(r), by}, redisconn.Command{"HINCRBY", f.fence.Key(r, "pair"), "second", by})
	return err
}

// LoadPair implements [fencerowtest.Transferrer].
func (f redisFence) LoadPair(ctx context.Context, r fencerow.Resource) (first, second int64, err error) {
	reply, err := f.load(ctx, r)
	if err != nil {
		return 0, 0, err
	}
	key := f.fence.Key(r, "pair")
	replies, err := f.conn.Do(ctx, key, redisconn.Command{"HGET", key, "second"})
	if err != nil {
		return 0, 0, err
	}
	first, firstErr := number(reply)
	second, secondErr := number(replies[0])
	return first, second, errors.Join(firstErr, secondErr)
}

func (f redisFence) Load(ctx context.Context, r fencerow.Resource) (value, mark int64, err error) {
	m, err := f.fence.Mark(ctx, r)
	if err != nil {
		return 0, 0, err
	}
	// The value is read as any client would, by the key's name.
	replies, err := f.load(ctx, r)
	if err != nil {
		return 0, 0, err
	}
	value, err = number(replies)
	return value, m.Number, err
}

func (f redisFence) load(ctx context.Context, r fencerow.Resource) (redisconn.Reply, error) {
	key := f.key(r)
	replies, err := f.conn.Do(ctx, key, redisconn.Command{"GET", key})
	if err != nil {
		return redisconn.Reply{}, err
	}
	if err := replies[0].Err; err != nil && !strings.Contains(err.Error(), "nil") {
		return redisconn.Reply{}, err
	}
	return replies[0], nil
}
