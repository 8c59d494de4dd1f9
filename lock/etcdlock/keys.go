package etcdlock

import (
	"encoding/json"
	"fmt"
	"math"
	"net/url"
	"strconv"
	"strings"

	"go.etcd.io/etcd/api/v3/mvccpb"
)

// keys names what the service stores. A resource is escaped so that it contains no slash: no queue is a prefix of another.
type keys struct{ namespace string }

func (k keys) source() string { return k.namespace + "/source" }

// queue is the prefix of a resource's queue.
func (k keys) queue(resource string) string {
	return k.namespace + "/queue/" + url.PathEscape(resource) + "/"
}

// own is the key of one grant or waiter. The grant id makes it that of nobody else.
func (k keys) own(resource, grantID string) string {
	return k.queue(resource) + url.PathEscape(grantID)
}

// base is the key of what Seed has added to the revisions.
func (k keys) base(resource string) string { return k.namespace + "/base/" + url.PathEscape(resource) }

// base is what is added to a revision to make a number. The zero value is that of a resource that was never seeded.
type base struct {
	value    int64
	revision int64  // of its key's last change, 0 while there is none
	retired  string // the source that the resource was handed over to, empty if it was not
}

// baseValue is what the key of a base holds.
type baseValue struct {
	Base      string `json:"base"`
	RetiredTo string `json:"retired_to,omitempty"`
}

func (b base) encode() string {
	text, _ := json.Marshal(baseValue{strconv.FormatInt(b.value, 10), b.retired})
	return string(text)
}

func decodeBase(kv *mvccpb.KeyValue) (base, error) {
	var v baseValue
	err := json.Unmarshal(kv.Value, &v)
	b := base{revision: kv.ModRevision, retired: v.RetiredTo}
	if err == nil {
		b.value, err = strconv.ParseInt(v.Base, 10, 64)
	}
	if err != nil || b.value < 0 {
		return base{}, fmt.Errorf("the key %q holds %q, which is not ours: %w", kv.Key, kv.Value, err)
	}
	return b, nil
}

// number returns the number of a key with that create revision.
func (b base) number(revision int64) (int64, error) {
	if b.value > math.MaxInt64-revision {
		return 0, fmt.Errorf("the numbers are used up: the base is %d and the revision %d", b.value, revision)
	}
	return b.value + revision, nil
}

// entryValue is what a key in a queue holds. The base stands in it so that the number of a grant can be read again after a
// later seed; as text, because JSON readers elsewhere lose digits.
type entryValue struct {
	Holder       string `json:"holder"`
	Base         string `json:"base"`
	BaseRevision int64  `json:"base_revision"`
}

func encodeValue(holder string, b base) string {
	text, _ := json.Marshal(entryValue{holder, strconv.FormatInt(b.value, 10), b.revision}) // strings and a number
	return string(text)
}

func decodeValue(key string, text []byte) (holder string, b base, err error) {
	var v entryValue
	if err = json.Unmarshal(text, &v); err == nil {
		b.value, err = strconv.ParseInt(v.Base, 10, 64)
	}
	if err != nil {
		return "", base{}, fmt.Errorf("the key %q holds something that is not ours: %w", key, err)
	}
	b.revision = v.BaseRevision
	return v.Holder, b, nil
}

// grantID is the inverse of own.
func (k keys) grantID(resource, key string) (string, error) {
	return url.PathUnescape(strings.TrimPrefix(key, k.queue(resource)))
}
