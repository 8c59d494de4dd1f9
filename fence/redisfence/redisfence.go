package redisfence

import (
	"context"
	"crypto/rand"
	"embed"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/fencerow/fencerow"
	"github.com/fencerow/fencerow/fence"
	"github.com/fencerow/fencerow/internal/redisserver"
	"github.com/fencerow/fencerow/redisconn"
)

//go:embed lua
var files embed.FS

var (
	claimScript    = redisserver.Load(files, "fence", "claim")
	writeScript    = redisserver.Load(files, "fence", "write")
	markScript     = redisserver.Load(files, "fence", "mark")
	overrideScript = redisserver.Load(files, "fence", "override")
)

// Fence protects data in Redis. It is safe for concurrent use.
type Fence struct {
	conn redisconn.Conn
	opts Options
}

// Options of a Fence. A nil *Options means the defaults.
type Options struct {
	// Namespace is the beginning of all keys: letters, digits and any of "._:-". Default: "fencerow".
	Namespace string
	// Observer is told every answer. Default: nobody.
	Observer *fencerow.Observer
	// MaxJump is the largest step from the stored number to that of a claim, against a poisoned number. A claim above it is
	// [fencerow.ErrImplausible]. The first claim of a resource may have any number. Default: 0, any.
	MaxJump int64
}

var namespaceForm = regexp.MustCompile(`^[A-Za-z0-9._:-]{1,64}$`)

// Open returns the fence. It refuses a server that may evict marks, a read-only replica, and one that is too old, and says what to do.
// The client stays the caller's.
func Open(ctx context.Context, conn redisconn.Conn, opts *Options) (*Fence, error) {
	f := &Fence{conn: conn}
	if opts != nil {
		f.opts = *opts
	}
	if f.opts.Namespace == "" {
		f.opts.Namespace = "fencerow"
	}
	switch {
	case conn == nil:
		return nil, errors.New("redisfence: open: the connection is nil")
	case !namespaceForm.MatchString(f.opts.Namespace):
		return nil, fmt.Errorf(`redisfence: open: the namespace %q must be 1 to 64 letters, digits or "._:-"`, f.opts.Namespace)
	case f.opts.MaxJump < 0:
		return nil, fmt.Errorf("redisfence: open: MaxJump is %d, it must not be negative", f.opts.MaxJump)
	}
	replies, err := conn.Do(ctx, f.opts.Namespace, redisconn.Command{"INFO"})
	if err == nil {
		err = replies[0].Err
	}
	if err == nil {
		text, _ := replies[0].Value.(string)
		err = redisserver.Refuse(redisserver.ParseInfo(text), "marks, and let superseded holders in")
	}
	if err != nil {
		return nil, fmt.Errorf("redisfence: open: %w", redisserver.Explain(err))
	}
	return f, nil
}

// Key returns the name of a key that holds data of a resource. All keys of a resource are in one hash slot of a cluster.
func (f *Fence) Key(resource fencerow.Resource, name string) string {
	return f.tag(resource) + ":data:" + name
}

// tag is the beginning of the keys of a resource. What is between the braces decides about the hash slot.
func (f *Fence) tag(resource fencerow.Resource) string {
	escaped := strings.NewReplacer("%", "%25", "{", "%7B", "}", "%7D").Replace(string(resource))
	return f.opts.Namespace + ":{" + escaped + "}"
}

func (f *Fence) markKey(resource fencerow.Resource) string { return f.tag(resource) + ":mark" }

// Claim raises the mark of a resource to the stamp's token and runs commands that read, in one step. From then on no older holder's write
// is accepted. The same grant may claim again: that is also how it reads later on. Commands name keys that [Fence.Key] has made.
//
// The errors are [fencerow.ErrStale], [fencerow.ErrTokenReused], [fencerow.ErrMismatch], [fencerow.ErrImplausible], [fencerow.ErrNoToken],
// [fencerow.ErrConflict], [fencerow.ErrAmbiguous], and failures of Redis or of a command; then nothing was claimed.
func (f *Fence) Claim(ctx context.Context, stamp fencerow.Stamp, resource fencerow.Resource, reads ...redisconn.Command) ([]redisconn.Reply, error) {
	replies, err := f.send(ctx, claimScript, stamp, resource, f.jump(), reads, func(m fence.Mark) error { return m.Claim(stamp, f.opts.MaxJump) })
	return replies, stamp.Settle(ctx, f.opts.Observer, fencerow.Claim, err)
}

func (f *Fence) jump() string {
	if f.opts.MaxJump == 0 {
		return ""
	}
	return strconv.FormatInt(f.opts.MaxJump, 10)
}

// Write runs commands if the grant has claimed the resource and this stamp was not applied before, in one step that also records the stamp.
// Commands name keys that [Fence.Key] has made. A lost answer is resolved by sending the stamp again; the replies of the commands are
// lost then, and nil.
//
// A nil error means applied. Otherwise nothing was written, unless the error is [fencerow.ErrAmbiguous] or a [*PartialError]. The errors are
// [fencerow.ErrStale], [fencerow.ErrDuplicate], [fencerow.ErrOutOfOrder], [fencerow.ErrUnclaimed], [fencerow.ErrTokenReused],
// [fencerow.ErrMismatch], [fencerow.ErrNoToken], [fencerow.ErrConflict], and failures of Redis or of a command.
func (f *Fence) Write(ctx context.Context, stamp fencerow.Stamp, resource fencerow.Resource, writes ...redisconn.Command) ([]redisconn.Reply, error) {
	replies, err := f.send(ctx, writeScript, stamp, resource, rand.Text(), writes, func(m fence.Mark) error { return m.Write(fence.Claimed, stamp) })
	return replies, stamp.Settle(ctx, f.opts.Observer, fencerow.Write, err)
}

// send runs a script until its answer is definite. Extra is its own argument, and decide gives the reason of a refusal.
func (f *Fence) send(ctx context.Context, script redisserver.Script, stamp fencerow.Stamp, resource fencerow.Resource, extra string,
	commands []redisconn.Command, decide func(fence.Mark) error) (replies []redisconn.Reply, err error) {
	if err := errors.Join(stamp.Check(resource), f.check(resource, commands)); err != nil {
		return nil, err
	}
	token := stamp.Token()
	keys := append([]string{f.markKey(resource)}, keysOf(commands)...)
	args := []string{token.Source(), strconv.FormatInt(token.Number(), 10), token.GrantID(), strconv.FormatInt(stamp.Step(), 10), extra}
	for _, command := range commands {
		args = append(append(args, strconv.Itoa(len(command))), command...)
	}
	err = fence.Resolve(ctx, true, func() error {
		answers, err := script.Run(ctx, f.conn, keys, args)
		if err != nil {
			return failed(stamp, err)
		}
		a, err := parse(answers[0].Value)
		if err != nil {
			return fmt.Errorf("redisfence: %s: %w", stamp, err)
		}
		if a.what == "refused" {
			if err := decide(a.mark); err != nil {
				return err
			}
			return fmt.Errorf("redisfence: %s: the script refuses what the mark %+v admits, which is a mistake of this package: please report it", stamp, a.mark)
		}
		replies = a.replies
		return a.failure(stamp, commands)
	})
	if err != nil {
		return nil, err
	}
	return replies, nil
}

// check refuses commands that would leave the resource's hash slot, or name no key.
func (f *Fence) check(resource fencerow.Resource, commands []redisconn.Command) error {
	for _, command := range commands {
		if len(command) < 2 || !strings.HasPrefix(command[1], f.tag(resource)+":data:") {
			return fmt.Errorf("redisfence: the command %q: its second word must be a key that Key(%q, name) has made", []string(command), resource)
		}
	}
	return nil
}

func keysOf(commands []redisconn.Command) []string {
	keys := make([]string, len(commands))
	for i, command := range commands {
		keys[i] = command[1]
	}
	return keys
}

// Mark returns what is stored of a resource, for people and tests. It is no permission to write.
func (f *Fence) Mark(ctx context.Context, resource fencerow.Resource) (fence.Mark, error) {
	answers, err := markScript.Run(ctx, f.conn, []string{f.markKey(resource)}, []string{"", "", "", ""})
	if err != nil {
		return fence.Mark{}, fmt.Errorf("redisfence: look at the mark of %s: %w", resource, redisserver.Explain(err))
	}
	a, err := parse(answers[0].Value)
	return a.mark, err
}
