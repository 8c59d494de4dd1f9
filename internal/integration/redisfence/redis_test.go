// Package redisfence tests the fence in Redis: traps of fences written by hand, and what goes wrong in the middle.
package redisfence

import (
	"context"
	"crypto/rand"
	"errors"
	"math"
	"strconv"
	"strings"
	"testing"

	goredis "github.com/redis/go-redis/v9"

	"github.com/fencerow/fencerow"
	"github.com/fencerow/fencerow/fence"
	"github.com/fencerow/fencerow/fence/redisfence"
	"github.com/fencerow/fencerow/fencerowtest"
	"github.com/fencerow/fencerow/internal/integration/servers"
	"github.com/fencerow/fencerow/redisconn"
	goredisconn "github.com/fencerow/fencerow/redisconn/goredis"
)

func TestMain(m *testing.M) {
	goredis.SetLogger(silent{}) // it reports each connection that a test breaks
	servers.Main(m)
}

type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}

const account = fencerow.Resource("account/42")

func grant(number int64) fencerow.Token { return fencerowtest.Token("test:1", account, number) }

func dial(t *testing.T, endpoint string) *goredis.Client {
	t.Helper()
	client := goredis.NewClient(&goredis.Options{Addr: endpoint, ContextTimeoutEnabled: true})
	t.Cleanup(func() { _ = client.Close() })
	return client
}

func open(t *testing.T, client *goredis.Client, opts redisfence.Options) *redisfence.Fence {
	t.Helper()
	if opts.Namespace == "" {
		opts.Namespace = "test:" + rand.Text()
	}
	f, err := redisfence.Open(t.Context(), goredisconn.New(client), &opts)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func wantVerdict(t *testing.T, err error, want fencerow.Verdict, what string) {
	t.Helper()
	if got := fencerow.VerdictOf(err); got != want {
		t.Errorf("%s: %s (%v), want %s", what, got, err, want)
	}
}

func wantError(t *testing.T, err error, says, what string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), says) {
		t.Errorf("%s: %v, want an error that says %q", what, err, says)
	}
}

func claim(t *testing.T, f *redisfence.Fence, token fencerow.Token) {
	t.Helper()
	if _, err := f.Claim(t.Context(), token.Stamp(1), account); err != nil {
		t.Fatal(err)
	}
}

// Numbers of Lua, and scores of sorted sets, lose digits above 2^53: two holders look like one.
func TestTrapNumbersOfLua(t *testing.T) {
	client := dial(t, servers.Redis(t))
	const big = 1 << 53
	same, err := client.Eval(t.Context(), "return tonumber(ARGV[1]) == tonumber(ARGV[2]) and 1 or 0", nil, strconv.Itoa(big), strconv.Itoa(big+1)).Int()
	if err != nil || same != 1 {
		t.Errorf("the trap is gone: %d, %v", same, err)
	}
	key := "trap:" + rand.Text()
	if err := client.ZAddGT(t.Context(), key, goredis.Z{Score: big + 1, Member: "m"}).Err(); err != nil {
		t.Fatal(err)
	}
	if score, err := client.ZScore(t.Context(), key, "m").Result(); err != nil || score != big {
		t.Errorf("the trap is gone: %v, %v", score, err)
	}
	counter := "trap:" + rand.Text()
	if err := client.Set(t.Context(), counter, big, 0).Err(); err != nil {
		t.Fatal(err)
	}
	through, err := client.Eval(t.Context(), "return tostring(redis.call('INCR', KEYS[1]))", []string{counter}).Text()
	if err != nil || through == strconv.Itoa(big+1) {
		t.Errorf("the trap is gone: INCR through Lua says %s, %v", through, err)
	}

	f := open(t, client, redisfence.Options{})
	for _, n := range []int64{big - 1, big, big + 1, math.MaxInt64 - 1, math.MaxInt64} {
		claim(t, f, grant(n))
		_, err := f.Claim(t.Context(), grant(n-1).Stamp(1), account)
		var stale *fencerow.StaleError
		if !errors.As(err, &stale) || stale.Presented != n-1 || stale.Stored != n {
			t.Errorf("%d against %d: %v", n-1, n, err)
		}
	}
}

// Redis undoes nothing: what ran before a command that fails stands. That is said, and the stamp is used up.
func TestCommandThatFailsInTheMiddle(t *testing.T) {
	f := open(t, dial(t, servers.Redis(t)), redisfence.Options{})
	token := grant(5)
	claim(t, f, token)
	text, list := f.Key(account, "text"), f.Key(account, "list")
	set := redisconn.Command{"SET", text, "1"}
	wrong := redisconn.Command{"LPUSH", text, "x"} // which is no list
	push := redisconn.Command{"LPUSH", list, "x"}
	if _, err := f.Write(t.Context(), token.Stamp(1), account, set); err != nil {
		t.Fatal(err)
	}
	_, err := f.Write(t.Context(), token.Stamp(2), account, wrong, push)
	wantError(t, err, "nothing was written", "a first command that fails")
	wantVerdict(t, err, fencerow.Failed, "a first command that fails")
	if _, err := f.Write(t.Context(), token.Stamp(2), account, push); err != nil {
		t.Errorf("the same stamp after nothing was written: %v", err)
	}
	var partial *redisfence.PartialError
	_, err = f.Write(t.Context(), token.Stamp(3), account, push, wrong, push)
	if !errors.As(err, &partial) || partial.Applied != 1 || partial.Failed[1] != text || !strings.Contains(partial.Answer, "WRONGTYPE") {
		t.Fatalf("a second command that fails: %v", err)
	}
	_, err = f.Write(t.Context(), token.Stamp(3), account, push)
	wantVerdict(t, err, fencerow.Duplicate, "the same stamp after a part was written")
	replies, err := f.Claim(t.Context(), token.Stamp(4), account, redisconn.Command{"LLEN", list})
	if err != nil || replies[0].Value != int64(2) {
		t.Errorf("the list has %v, %v", replies, err)
	}
	_, err = f.Claim(t.Context(), grant(6).Stamp(1), account, redisconn.Command{"LLEN", text})
	wantError(t, err, "nothing was written", "a claim whose read fails")
	if _, err := f.Write(t.Context(), token.Stamp(5), account, push); err != nil {
		t.Errorf("the claim that failed has raised the mark: %v", err)
	}
}

// Replies come back as the commands have given them, nil included.
func TestRepliesOfCommands(t *testing.T) {
	f := open(t, dial(t, servers.Redis(t)), redisfence.Options{})
	token := grant(5)
	claim(t, f, token)
	key := func(name string) string { return f.Key(account, name) }
	replies, err := f.Write(t.Context(), token.Stamp(1), account,
		redisconn.Command{"GET", key("nothing")}, redisconn.Command{"SET", key("a"), "x y\r\n\x00ü"}, redisconn.Command{"INCR", key("n")},
		redisconn.Command{"HSET", key("h"), "f", "v"}, redisconn.Command{"HGETALL", key("h")}, redisconn.Command{"GET", key("a")})
	if err != nil || len(replies) != 6 {
		t.Fatal(replies, err)
	}
	if replies[0].Value != nil || replies[1].Value != "OK" || replies[2].Value != int64(1) || replies[3].Value != int64(1) || replies[5].Value != "x y\r\n\x00ü" {
		t.Errorf("%+v", replies)
	}
	if pair, ok := replies[4].Value.([]any); !ok || len(pair) != 2 || pair[0] != "f" || pair[1] != "v" {
		t.Errorf("%+v", replies[4])
	}
	if replies, err := f.Write(t.Context(), token.Stamp(2), account); err != nil || len(replies) != 0 {
		t.Errorf("no commands: %v, %v", replies, err)
	}
}

func TestCommandsStayWithTheirResource(t *testing.T) {
	f := open(t, dial(t, servers.Redis(t)), redisfence.Options{})
	token := grant(5)
	claim(t, f, token)
	for _, command := range []redisconn.Command{
		nil, {"FLUSHALL"}, {"SET", "other", "1"}, {"SET", f.Key("account/43", "x"), "1"}, {"DEL", strings.Replace(f.Key(account, ""), ":data:", ":mark", 1)},
	} {
		_, err := f.Write(t.Context(), token.Stamp(1), account, command)
		wantError(t, err, "must be a key that Key", strings.Join(command, " "))
	}
	// Names with braces and slashes have slots and keys of their own.
	names := []fencerow.Resource{"a/b", "a/{b}", "a/b}", "a/{", "a/%7B", "a/b:data:c"}
	keys := map[string]bool{}
	for _, name := range names {
		keys[f.Key(name, "x")] = true
	}
	if len(keys) != len(names) {
		t.Errorf("%d keys for %d names", len(keys), len(names))
	}
}

// A mark has no time to live, and a server that may evict it is refused.
func TestMarksDoNotExpire(t *testing.T) {
	server := servers.Start(t, func(ctx context.Context) (*servers.RedisServer, error) { return servers.StartRedis(ctx) })
	client := dial(t, server.Endpoint)
	f := open(t, client, redisfence.Options{Namespace: "n"})
	claim(t, f, grant(5))
	if ttl, err := client.TTL(t.Context(), "n:{account/42}:mark").Result(); err != nil || ttl != -1 {
		t.Errorf("the mark lives for %v, %v", ttl, err)
	}
	for _, setting := range [][2]string{{"maxmemory", "100mb"}, {"maxmemory-policy", "allkeys-lru"}} {
		if err := client.ConfigSet(t.Context(), setting[0], setting[1]).Err(); err != nil {
			t.Fatal(err)
		}
	}
	_, err := redisfence.Open(t.Context(), goredisconn.New(client), nil)
	wantError(t, err, "evict marks", "a server that evicts")
}

func TestBadInput(t *testing.T) {
	client := dial(t, servers.Redis(t))
	for says, opts := range map[string]redisfence.Options{"namespace": {Namespace: "{x}"}, "MaxJump": {MaxJump: -1}} {
		_, err := redisfence.Open(t.Context(), goredisconn.New(client), &opts)
		wantError(t, err, says, says)
	}
	if _, err := redisfence.Open(t.Context(), nil, nil); err == nil {
		t.Error("no connection")
	}
	_, err := redisfence.Open(t.Context(), goredisconn.New(dial(t, "127.0.0.1:1")), nil)
	wantError(t, err, "check the address", "nobody listens")

	// Something else lies where the mark should be.
	namespace := "test:" + rand.Text()
	f := open(t, client, redisfence.Options{Namespace: namespace})
	key := namespace + ":{account/42}:mark"
	if err := client.Set(t.Context(), key, "x", 0).Err(); err != nil {
		t.Fatal(err)
	}
	_, err = f.Claim(t.Context(), grant(5).Stamp(1), account)
	wantVerdict(t, err, fencerow.Unfenced, "a mark of another type")
	if err := errors.Join(client.Del(t.Context(), key).Err(), client.HSet(t.Context(), key, "source", "test:1", "number", "many", "grant", "g", "step", "0").Err()); err != nil {
		t.Fatal(err)
	}
	_, err = f.Claim(t.Context(), grant(5).Stamp(1), account)
	wantVerdict(t, err, fencerow.Unfenced, "a mark that is no number")

	replica := servers.Start(t, func(ctx context.Context) (*servers.RedisServer, error) {
		return servers.StartRedis(ctx, "--replicaof", "127.0.0.1 1")
	})
	_, err = redisfence.Open(t.Context(), goredisconn.New(dial(t, replica.Endpoint)), nil)
	wantError(t, err, "read-only replica", "a replica")
}

func TestPoisonedMark(t *testing.T) {
	client := dial(t, servers.Redis(t))
	namespace := "test:" + rand.Text()
	bounded, unbounded := open(t, client, redisfence.Options{Namespace: namespace, MaxJump: 1000}), open(t, client, redisfence.Options{Namespace: namespace})
	const poison = 1_790_000_000_000
	claim(t, bounded, grant(7))
	_, err := bounded.Claim(t.Context(), grant(poison).Stamp(1), account)
	wantVerdict(t, err, fencerow.Implausible, "a poisoned number")
	claim(t, unbounded, grant(poison))
	_, err = bounded.Claim(t.Context(), grant(8).Stamp(1), account)
	wantVerdict(t, err, fencerow.Stale, "a real number after a poisoned one")
	o := fence.Override{Number: 7, By: "ann", Why: "ticket 17"}
	wantError(t, bounded.Override(t.Context(), account, fence.Override{Number: 7}), "By", "an override by nobody")
	wantError(t, bounded.Override(t.Context(), "account/43", o), "source", "an override of nothing")
	if err := bounded.Override(t.Context(), account, o); err != nil {
		t.Fatal(err)
	}
	_, err = bounded.Claim(t.Context(), grant(7).Stamp(1), account)
	wantVerdict(t, err, fencerow.TokenReused, "the number that was set")
	claim(t, bounded, grant(8))
	trail, err := bounded.Overrides(t.Context(), account)
	if err != nil || len(trail) != 1 || trail[0].Override != o || trail[0].At.IsZero() {
		t.Errorf("the trail is %+v, %v", trail, err)
	}
}
