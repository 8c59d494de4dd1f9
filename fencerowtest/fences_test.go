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
	fencerowtest.TestFence(t, memfenceHarness())
}

func memfenceHarness() fencerowtest.FenceHarness {
	store := memfence.New[int64](nil)
	return fencerowtest.FenceHarness{
		Name:        "memfence",
		Open:        func(context.Context) (fencerowtest.Fence, error) { return memory{store}, nil },
		NewResource: newName,
		Features:    fencerowtest.Features{Claims: true, Steps: true, Sources: true},
	}
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

func (m memory) Load(_ context.Context, r fencerow.Resource) (int64, int64, error) {
	value, number := m.store.Load(r)
	return value, number, nil
}
