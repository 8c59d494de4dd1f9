package fencerowtest_test

import (
	"context"
	"crypto/rand"
	"testing"

	"github.com/fencerow/fencerow"
	"github.com/fencerow/fencerow/fence/memfence"
	"github.com/fencerow/fencerow/fencerowtest"
)

func TestMemfenceConforms(t *testing.T) {
	t.Parallel()
	store := memfence.New[int64](nil)
	fencerowtest.TestFence(t, fencerowtest.FenceHarness{
		Name:        "memfence",
		Open:        func(context.Context) (fencerowtest.Fence, error) { return memory{store}, nil },
		NewResource: newName,
		Features:    fencerowtest.Features{Claims: true, Steps: true, Sources: true},
	})
}

func newName(context.Context) (fencerow.Resource, error) {
	return fencerow.Resource("kit/" + rand.Text()), nil
}

// memory drives a memfence.
type memory struct{ store *memfence.Store[int64] }

func (m memory) Claim(ctx context.Context, stamp fencerow.Stamp, r fencerow.Resource) (int64, error) {
	return m.store.Claim(ctx, stamp, r)
}

func (m memory) Write(ctx context.Context, stamp fencerow.Stamp, r fencerow.Resource, value int64) error {
	return m.store.Write(ctx, stamp, r, func(int64) (int64, error) { return value, nil })
}

// Transact implements [fencerowtest.Transactor]: what changes the value is the transaction.
func (m memory) Transact(ctx context.Context, stamp fencerow.Stamp, r fencerow.Resource, values []int64, last func(context.Context) error) error {
	return m.store.Write(ctx, stamp, r, func(value int64) (int64, error) {
		for _, value = range values {
		}
		return value, last(ctx)
	})
}

func (m memory) Load(_ context.Context, r fencerow.Resource) (int64, int64, error) {
	value, number := m.store.Load(r)
	return value, number, nil
}
