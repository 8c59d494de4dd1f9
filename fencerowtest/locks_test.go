package fencerowtest_test

import (
	"context"
	"testing"
	"time"

	"github.com/fencerow/fencerow/driver"
	"github.com/fencerow/fencerow/fencerowtest"
	"github.com/fencerow/fencerow/lock/memlock"
)

func TestMemlockConforms(t *testing.T) {
	t.Parallel()
	svc := memlock.New()
	fencerowtest.TestLocks(t, fencerowtest.LockHarness{
		Name: "memlock",
		Open: func(context.Context) (driver.LockService, error) { return handle{svc}, nil },
		TTL:  100 * time.Millisecond,
	})
}

// handle is a process's view of a service in memory: closing it leaves the service open for the others.
type handle struct{ *memlock.Service }

func (handle) Close() error { return nil }
