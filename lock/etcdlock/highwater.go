package etcdlock

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/fencerow/fencerow"
)

// HighWater is a high-water store in etcd, for lock services elsewhere. It implements [fencerow.HighWater].
type HighWater struct {
	client *clientv3.Client
	prefix string
}

var _ fencerow.HighWater = (*HighWater)(nil)

// OpenHighWater returns the store in the namespace, "fencerow" if that is empty. The caller keeps and closes the client. Do not
// use it for the numbers of the same etcd: what is restored with them notices nothing.
func OpenHighWater(client *clientv3.Client, namespace string) (*HighWater, error) {
	if client == nil {
		return nil, errors.New("etcdlock: open the high-water store: the client is nil")
	}
	if namespace == "" {
		namespace = defaultNamespace
	}
	return &HighWater{client, namespace + "/high-water/"}, nil
}

func (h *HighWater) source(source string) string { return h.prefix + url.PathEscape(source) + "/" }

func (h *HighWater) key(source string, resource fencerow.Resource) string {
	return h.source(source) + url.PathEscape(string(resource))
}

// Raise implements [fencerow.HighWater].
func (h *HighWater) Raise(ctx context.Context, source string, resource fencerow.Resource, number int64) (mark int64, raised bool, err error) {
	key := h.key(source, resource)
	revision := int64(0) // of the key's last change; most are new or raised for the first time by this process
	for {
		resp, err := h.client.Txn(ctx).
			If(clientv3.Compare(clientv3.ModRevision(key), "=", revision)).
			Then(clientv3.OpPut(key, strconv.FormatInt(number, 10))).
			Else(clientv3.OpGet(key)).
			Commit()
		if err != nil {
			return 0, false, fmt.Errorf("etcdlock: raise the mark of %s: %w", resource, err)
		}
		if resp.Succeeded {
			return number, true, nil
		}
		kv := first(resp.Responses[0])
		if kv == nil {
			return 0, false, fmt.Errorf("etcdlock: raise the mark of %s: somebody has deleted it", resource)
		}
		if mark, err = strconv.ParseInt(string(kv.Value), 10, 64); err != nil {
			return 0, false, fmt.Errorf("etcdlock: the key %q holds %q, which is not ours: %w", key, kv.Value, err)
		}
		if mark >= number {
			return mark, false, nil
		}
		revision = kv.ModRevision
	}
}

// Mark implements [fencerow.HighWater].
func (h *HighWater) Mark(ctx context.Context, source string, resource fencerow.Resource) (int64, error) {
	return h.highest(ctx, h.key(source, resource))
}

// Highest implements [fencerow.HighWater].
func (h *HighWater) Highest(ctx context.Context, source string) (int64, error) {
	return h.highest(ctx, h.source(source), clientv3.WithPrefix())
}

func (h *HighWater) highest(ctx context.Context, key string, opts ...clientv3.OpOption) (highest int64, err error) {
	resp, err := h.client.Get(ctx, key, opts...)
	if err != nil {
		return 0, fmt.Errorf("etcdlock: read high-water marks: %w", err)
	}
	for _, kv := range resp.Kvs {
		mark, err := strconv.ParseInt(string(kv.Value), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("etcdlock: the key %q holds %q, which is not ours: %w", kv.Key, kv.Value, err)
		}
		highest = max(highest, mark)
	}
	return highest, nil
}
