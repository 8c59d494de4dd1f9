package zklock

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"strings"
)

// paths names the nodes. Names are escaped, so that a resource contains no slash, and begin with a letter and a colon, so that
// none is "." or "..".
type paths struct{ root string }

func (p paths) source() string { return p.root + "/source" }
func (p paths) locks() string  { return p.root + "/locks" }

// dir is the folder of a resource. Its data is "w" if somebody may wait; its version changes with every waiter that comes.
func (p paths) dir(resource string) string { return p.locks() + "/r:" + url.PathEscape(resource) }

// base holds what Seed has added to the zxids.
func (p paths) base(resource string) string { return p.dir(resource) + "/base" }

// queue holds a node for each waiter.
func (p paths) queue(resource string) string { return p.dir(resource) + "/queue" }

// holder exists while the resource is held.
func (p paths) holder(resource string) string { return p.dir(resource) + "/holder" }

// grant exists as long as the grant's holder node, and nobody else has its name: by it a grant is renewed and released.
func (p paths) grant(resource, grantID string, session int64) string {
	return p.dir(resource) + "/g:" + url.PathEscape(grantID) + ":" + sessionName(session)
}

// waiter is the beginning of a waiter's node; ZooKeeper appends ten digits.
func (p paths) waiter(resource, grantID string, session int64) string {
	return p.queue(resource) + "/w:" + url.PathEscape(grantID) + ":" + sessionName(session) + ":"
}

func sessionName(session int64) string { return strconv.FormatUint(uint64(session), 16) }

// sequence returns the digits at the end of a waiter's name. They wrap to negative numbers.
func sequence(name string) (int32, bool) {
	i := strings.LastIndexByte(name, ':')
	n, err := strconv.ParseInt(name[i+1:], 10, 32)
	return int32(n), i >= 0 && err == nil
}

// before compares positions in a queue, also across the wrap.
func before(a, b int32) bool { return a-b < 0 }

// holderValue is the data of a holder node. Numbers are text, because JSON readers elsewhere lose digits.
type holderValue struct {
	GrantID string `json:"grant_id"`
	Holder  string `json:"holder"`
	Session string `json:"session"`
	Base    string `json:"base"`
	// Number is set if the grant has moved to another session, with another node: it keeps the number that it was granted.
	Number string `json:"number,omitempty"`
}

func (v holderValue) encode() []byte {
	text, _ := json.Marshal(v) // strings
	return text
}

func decodeHolder(text []byte) (v holderValue, err error) {
	if err = json.Unmarshal(text, &v); err != nil {
		err = fmt.Errorf("the holder node has data that is not ours: %w", err)
	}
	return v, err
}

// number returns the number of a holder node that was created by the transaction.
func (v holderValue) number(zxid int64) (int64, error) {
	text := v.Number
	if text == "" {
		base, err := strconv.ParseInt(v.Base, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("the holder node has the base %q: %w", v.Base, err)
		}
		return add(base, zxid)
	}
	return strconv.ParseInt(text, 10, 64)
}

// baseValue is the data of a base node.
type baseValue struct {
	Base      string `json:"base"`
	RetiredTo string `json:"retired_to,omitempty"`
}

func add(base, zxid int64) (int64, error) {
	if sum := base + zxid; sum > 0 {
		return sum, nil
	}
	return 0, fmt.Errorf("the numbers are used up: the base is %d and the transaction id %d", base, zxid)
}

// grantName is the name of the node of the grant that a holder node tells of.
func grantName(v holderValue) string { return "g:" + url.PathEscape(v.GrantID) + ":" + v.Session }
