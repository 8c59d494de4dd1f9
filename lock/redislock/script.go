package redislock

import (
	"context"
	"embed"

	"github.com/fencerow/fencerow/internal/redisserver"
	"github.com/fencerow/fencerow/redisconn"
)

//go:embed lua
var files embed.FS

// load returns one of the files under lua, behind what they share.
func load(name string) redisserver.Script { return redisserver.Load(files, "lock", name) }

var (
	acquireScript = load("acquire")
	renewScript   = load("renew")
	releaseScript = load("release")
	waitScript    = load("wait")
	passScript    = load("pass")
	seedScript    = load("seed")
	confirmScript = load("confirm")
	retireScript  = load("retire")
	inspectScript = load("inspect")
)

// run runs a script, and after it, on the same connection, another command if one is given.
func (s *Service) run(ctx context.Context, sc redisserver.Script, keys, args []string, after ...redisconn.Command) ([]redisconn.Reply, error) {
	return sc.Run(ctx, s.conn, keys, args, after...)
}

// texts reads a reply that is a list of strings and integers.
func texts(reply redisconn.Reply) ([]string, error) { return redisserver.Texts(reply.Value) }
