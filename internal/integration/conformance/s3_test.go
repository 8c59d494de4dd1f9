package conformance

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"strconv"
	"testing"

	"github.com/fencerow/fencerow"
	"github.com/fencerow/fencerow/fence/s3fence"
	"github.com/fencerow/fencerow/fencerowtest"
	"github.com/fencerow/fencerow/internal/integration/objectstore"
	"github.com/fencerow/fencerow/internal/integration/servers"
	"github.com/fencerow/fencerow/internal/integration/wire"
)

// buckets are the object stores, each with a bucket of the test's own.
var buckets = map[string]func(*testing.T) (address, bucket string){
	"double": func(t *testing.T) (string, string) {
		store := new(objectstore.Store)
		store.CreateBucket("bucket")
		return store.Serve(t), "bucket"
	},
	"versitygw": func(t *testing.T) (string, string) { return servers.Bucket(t) },
}

// throughWire returns how to open a fence of a store through a wire.
func throughWire(t *testing.T, address string, open func(context.Context, s3fence.Client) (fencerowtest.Fence, error)) func(context.Context) (fencerowtest.Fence, fencerowtest.Wire, error) {
	return func(ctx context.Context) (fencerowtest.Fence, fencerowtest.Wire, error) {
		w := wire.Start(t, host.FindString(address))
		fence, err := open(ctx, objectstore.Client(host.ReplaceAllString(address, w.Addr())))
		return fence, w, err
	}
}

func TestS3FencesConform(t *testing.T) {
	for name, open := range buckets {
		t.Run(name+", manifest", func(t *testing.T) {
			t.Parallel()
			address, bucket := open(t)
			openBy := func(ctx context.Context, client s3fence.Client) (fencerowtest.Fence, error) {
				store, err := s3fence.Open(ctx, client, bucket, &s3fence.Options{MaxJump: 1 << 62})
				return s3Store{store}, err
			}
			fencerowtest.TestFence(t, fencerowtest.FenceHarness{
				Name:        "s3fence.Store on " + name,
				Open:        func(ctx context.Context) (fencerowtest.Fence, error) { return openBy(ctx, objectstore.Client(address)) },
				OpenWired:   throughWire(t, address, openBy),
				NewResource: oddName,
				Features:    fencerowtest.Features{Claims: true, Steps: true, Sources: true, MaxJump: 1 << 62},
			})
		})
		t.Run(name+", keyed", func(t *testing.T) {
			t.Parallel()
			address, bucket := open(t)
			openBy := func(_ context.Context, client s3fence.Client) (fencerowtest.Fence, error) {
				keyed, err := s3fence.OpenKeyed(client, bucket, &s3fence.Options{MaxJump: 1 << 62})
				return s3Keyed{keyed}, err
			}
			fencerowtest.TestFence(t, fencerowtest.FenceHarness{
				Name:        "s3fence.Keyed on " + name,
				Open:        func(ctx context.Context) (fencerowtest.Fence, error) { return openBy(ctx, objectstore.Client(address)) },
				OpenWired:   throughWire(t, address, openBy),
				NewResource: oddName,
				Features:    fencerowtest.Features{Claims: true, Steps: true, Unserialized: true, MaxJump: 1 << 62},
			})
		})
	}
}

// oddName is a resource whose name needs care in a key.
func oddName(context.Context) (fencerow.Resource, error) {
	return fencerow.Resource("kit/ü+% #&?=../" + rand.Text()), nil
}

// s3Store keeps the value as text.
type s3Store struct{ store *s3fence.Store }

func (f s3Store) Claim(ctx context.Context, s fencerow.Stamp, r fencerow.Resource) (int64, error) {
	object, err := f.store.Claim(ctx, s, r)
	if err != nil {
		return 0, err
	}
	return f.value(ctx, object)
}

func (f s3Store) value(ctx context.Context, object *s3fence.Object) (int64, error) {
	if !object.Exists {
		return 0, nil
	}
	text, err := object.ReadAll(ctx)
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(string(text), 10, 64)
}

func (f s3Store) Write(ctx context.Context, s fencerow.Stamp, r fencerow.Resource, value int64) error {
	return f.store.Write(ctx, s, r, bytes.NewReader(strconv.AppendInt(nil, value, 10)))
}

func (f s3Store) Delete(ctx context.Context, s fencerow.Stamp, r fencerow.Resource) error {
	return f.store.Delete(ctx, s, r)
}

func (f s3Store) Load(ctx context.Context, r fencerow.Resource) (value, number int64, err error) {
	object, err := f.store.Read(ctx, r)
	if errors.Is(err, fencerow.ErrMissing) {
		return 0, 0, nil
	}
	if err != nil {
		return 0, 0, err
	}
	value, err = f.value(ctx, object)
	return value, object.Mark.Number, err
}

type s3Keyed struct{ keyed *s3fence.Keyed }

func (f s3Keyed) Claim(ctx context.Context, s fencerow.Stamp, r fencerow.Resource) (int64, error) {
	object, err := f.keyed.Claim(ctx, s, r)
	if err != nil {
		return 0, err
	}
	return f.value(object)
}

func (f s3Keyed) value(object s3fence.KeyedObject) (int64, error) {
	if !object.Exists {
		return 0, nil
	}
	return strconv.ParseInt(string(object.Data), 10, 64)
}

func (f s3Keyed) Write(ctx context.Context, s fencerow.Stamp, r fencerow.Resource, value int64) error {
	return f.keyed.Write(ctx, s, r, strconv.AppendInt(nil, value, 10))
}

func (f s3Keyed) Delete(ctx context.Context, s fencerow.Stamp, r fencerow.Resource) error {
	return f.keyed.Delete(ctx, s, r)
}

func (f s3Keyed) Load(ctx context.Context, r fencerow.Resource) (value, number int64, err error) {
	object, err := f.keyed.Read(ctx, r)
	if errors.Is(err, fencerow.ErrMissing) {
		return 0, 0, nil
	}
	if err != nil {
		return 0, 0, err
	}
	value, err = f.value(object)
	return value, object.Mark.Number, err
}
