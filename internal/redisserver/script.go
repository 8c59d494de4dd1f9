package redisserver

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

// Script is one script, kept by the server under its digest.
type Script struct{ text, sha string }

// Load returns the script in a file under lua, behind those that it shares with others.
func Load(files embed.FS, names ...string) Script {
	var texts []string
	for _, name := range names {
		text, err := files.ReadFile("lua/" + name + ".lua")
		if err != nil {
			panic(err) // a file that is compiled in
		}
		texts = append(texts, string(text))
	}
	text := strings.Join(texts, "\n")
	sum := sha1.Sum([]byte(text)) // the name that Redis gives it
	return Script{text, hex.EncodeToString(sum[:])}
}

// call is a script with its keys and arguments.
func (s Script) call(verb, body string, keys, args []string) redisconn.Command {
	command := redisconn.Command{verb, body, strconv.Itoa(len(keys))}
	return append(append(command, keys...), args...)
}

// Run runs the script, and after it, on the same connection, other commands if some are given. An error of the server's own is a
// [Refusal]; any other leaves the outcome unknown.
func (s Script) Run(ctx context.Context, conn redisconn.Conn, keys, args []string, after ...redisconn.Command) ([]redisconn.Reply, error) {
	replies, err := conn.Do(ctx, keys[0], append([]redisconn.Command{s.call("EVALSHA", s.sha, keys, args)}, after...)...)
	if err == nil && IsAnswer(replies[0].Err, "NOSCRIPT") { // a new server, or one whose scripts were flushed
		replies, err = conn.Do(ctx, keys[0], append([]redisconn.Command{s.call("EVAL", s.text, keys, args)}, after...)...)
	}
	if err != nil {
		return nil, err
	}
	if err := replies[0].Err; err != nil {
		return nil, Refusal{err}
	}
	return replies, nil
}

// Texts reads a reply that is a list of strings and integers.
func Texts(value any) ([]string, error) {
	list, ok := value.([]any)
	if !ok {
		return nil, fmt.Errorf("a list was expected and the server replied %v", value)
	}
	out := make([]string, len(list))
	for i, item := range list {
		switch item := item.(type) {
		case string:
			out[i] = item
		case int64:
			out[i] = strconv.FormatInt(item, 10)
		default:
			return nil, fmt.Errorf("the server replied %v", value)
		}
	}
	return out, nil
}

// IsAnswer reports whether an error is the server's and begins with the word.
func IsAnswer(err error, word string) bool {
	return err != nil && strings.HasPrefix(err.Error(), word)
}
