package redisfence

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/fencerow/fencerow"
	"github.com/fencerow/fencerow/fence"
	"github.com/fencerow/fencerow/internal/redisserver"
	"github.com/fencerow/fencerow/redisconn"
)

// PartialError says that a command of a write has failed and those before it stand, because Redis undoes nothing. The stamp is recorded:
// sending it again would not repair it. Look at the data, and put it right under a new stamp.
type PartialError struct {
	Stamp   fencerow.Stamp
	Applied int               // commands that have run
	Failed  redisconn.Command // the one after them
	Answer  string            // of Redis
}

// Error names the command and what Redis has answered.
func (e *PartialError) Error() string {
	return fmt.Sprintf("redisfence: %s: %d commands were applied, then %s failed: %s; put it right under a new stamp", e.Stamp, e.Applied, e.Failed[0], e.Answer)
}

// answer is what a script returns.
type answer struct {
	what    string // done, done before, refused, failed
	mark    fence.Mark
	replies []redisconn.Reply
	err     string // of the command that has failed
	applied int    // those before it
}

func parse(value any) (answer, error) {
	list, ok := value.([]any)
	if !ok || len(list) < 3 {
		return answer{}, fmt.Errorf("redisfence: the server replied %v to the script", value)
	}
	if list[0] == "failed" {
		parts, err := redisserver.Texts(value)
		if err != nil {
			return answer{}, err
		}
		applied, err := strconv.Atoi(parts[2])
		return answer{what: "failed", err: parts[1], applied: applied}, err
	}
	if len(list) != 6 {
		return answer{}, fmt.Errorf("redisfence: the server replied %v to the script", value)
	}
	parts, err := redisserver.Texts(list[:5])
	if err != nil {
		return answer{}, err
	}
	a := answer{what: parts[0], mark: fence.Mark{Source: parts[1], GrantID: parts[3]}}
	var numberErr, stepErr error
	a.mark.Number, numberErr = strconv.ParseInt(parts[2], 10, 64)
	a.mark.Step, stepErr = strconv.ParseInt(parts[4], 10, 64)
	if err := errors.Join(numberErr, stepErr); err != nil {
		return answer{}, fmt.Errorf("%w: redisfence: the mark holds %q and %q, which are not ours: %w", fencerow.ErrUnfenced, parts[2], parts[4], err)
	}
	replies, _ := list[5].([]any)
	for _, reply := range replies {
		a.replies = append(a.replies, redisconn.Reply{Value: reply})
	}
	return a, nil
}

// failure returns the error of an answer that is not a refusal.
func (a answer) failure(stamp fencerow.Stamp, commands []redisconn.Command) error {
	switch {
	case a.what != "failed":
		return nil
	case a.applied == 0:
		return fmt.Errorf("redisfence: %s: %s failed, nothing was written: %s", stamp, commands[0][0], a.err)
	}
	return &PartialError{Stamp: stamp, Applied: a.applied, Failed: commands[a.applied], Answer: a.err}
}

// busy are answers of a server that has not run the script, and may soon.
var busy = []string{"BUSY ", "LOADING", "TRYAGAIN", "CLUSTERDOWN", "MASTERDOWN", "MOVED", "ASK "}

// failed translates an error of the client. The script has run as a whole or not at all; a server that answers has not run it.
func failed(stamp fencerow.Stamp, err error) error {
	var refused redisserver.Refusal
	if !errors.As(err, &refused) {
		return fmt.Errorf("%w: redisfence: %s: %w", fencerow.ErrAmbiguous, stamp, err)
	}
	for _, word := range busy {
		if redisserver.IsAnswer(refused.Err, word) {
			return fmt.Errorf("%w: redisfence: %s: %w", fencerow.ErrConflict, stamp, redisserver.Explain(err))
		}
	}
	if redisserver.IsAnswer(refused.Err, "WRONGTYPE") {
		return fmt.Errorf("%w: redisfence: %s: the key of the mark holds something that is not ours: %w", fencerow.ErrUnfenced, stamp, err)
	}
	return fmt.Errorf("redisfence: %s: %w", stamp, redisserver.Explain(err))
}
