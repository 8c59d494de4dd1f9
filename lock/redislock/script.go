package redislock

import (
	"context"
	"crypto/sha1"
	"embed"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"github.com/fencerow/fencerow/redisconn"
)

//go:embed lua
var files embed.FS

// script is one of the files under lua, behind what they share.
type script struct{ text, sha string }

func load(name string) script {
	read := func(name string) string {
		text, err := files.ReadFile("lua/" + name + ".lua")
		if err != nil {
			panic(err) // a file that is compiled in
		}
		return string(text)
	}
	text := read("lock") + "\n" + read(name)
	sum := sha1.Sum([]byte(text)) // the name that Redis gives it
	return script{text, hex.EncodeToString(sum[:])}
}

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

// call is a script with its keys and arguments.
func (s script) call(verb, body string, keys, args []string) redisconn.Command {
	command := redisconn.Command{verb, body, strconv.Itoa(len(keys))}
	return append(append(command, keys...), args...)
}

// run runs a script, and after it, on the same connection, another command if one is given.
func (s *Service) run(ctx context.Context, sc script, keys, args []string, after ...redisconn.Command) ([]redisconn.Reply, error) {
	replies, err := s.conn.Do(ctx, keys[0], append([]redisconn.Command{sc.call("EVALSHA", sc.sha, keys, args)}, after...)...)
	if err == nil && isAnswer(replies[0].Err, "NOSCRIPT") { // a new server, or one whose scripts were flushed
		replies, err = s.conn.Do(ctx, keys[0], append([]redisconn.Command{sc.call("EVAL", sc.text, keys, args)}, after...)...)
	}
	if err != nil {
		return nil, err
	}
	if err := replies[0].Err; err != nil {
		return nil, refusal{err}
	}
	return replies, nil
}

// texts reads a reply that is a list of strings and integers.
func texts(reply redisconn.Reply) ([]string, error) {
	list, ok := reply.Value.([]any)
	if !ok {
		return nil, fmt.Errorf("a list was expected and the server replied %v", reply.Value)
	}
	out := make([]string, len(list))
	for i, item := range list {
		switch item := item.(type) {
		case string:
			out[i] = item
		case int64:
			out[i] = strconv.FormatInt(item, 10)
		default:
			return nil, fmt.Errorf("the server replied %v", reply.Value)
		}
	}
	return out, nil
}

// isAnswer reports whether an error is the server's and begins with the word.
func isAnswer(err error, word string) bool {
	return err != nil && strings.HasPrefix(err.Error(), word)
}
