package fencerowtest

import (
	"context"
	"testing"
	"time"

	"github.com/fencerow/fencerow/driver"
)

// LockHarness is how the kit reaches a lock service.
type LockHarness struct {
	// Name is for reports.
	Name string
	// Open returns a handle of the service, as another process would open it. All handles share the locks. It is called by
	// several goroutines.
	Open func(context.Context) (driver.LockService, error)
	// TTL is the shortest that the service and the machine keep with ease; several cases wait for its end. 300 ms suits a
	// local server.
	TTL time.Duration
	// Restart ends the service's server and starts it again with what it has kept, or does to its clients what that does. No
	// other case runs meanwhile. Nil where there is no server of the kit's own.
	Restart func(context.Context) error
	// Failover ends the server that decides about grants, at once, and returns when another one has taken over. No other case
	// runs meanwhile. Nil where there is none, and where the service declares that a failover may forget grants.
	Failover func(context.Context) error
	// OpenWired returns a handle as Open does, whose way to the server is in the hands of the case. Nil where there is no way
	// in between.
	OpenWired func(context.Context) (driver.LockService, Wire, error)
	// EndSession ends the session of a handle at the server, as the server does when it has not heard from it for long. Nil where
	// a handle has none.
	EndSession func(context.Context, driver.LockService) error
	// Patience is how long a case waits for what should come at once, on a machine that is busy with other things.
	// Default: 5 s.
	Patience time.Duration
	// Seed makes random delays repeat those of an earlier run. Default: a new one for each case; a violation names it.
	Seed uint64
}

// Wire is the way between a handle and its server.
type Wire interface {
	// LoseReplies lets requests arrive from now on and drops their replies.
	LoseReplies()
	// HoldRequests keeps requests on their way from now on.
	HoldRequests()
	// Restore delivers the requests that are held and carries everything again. Connections whose replies were dropped are
	// broken, as a client would find them.
	Restore()
}

// CheckLocks holds a lock service to every promise, or to those that are named. The results are in the order of [LockCases], or
// of the names.
func CheckLocks(ctx context.Context, h LockHarness, names ...string) Report {
	return Report{Subject: h.Name, Results: runAll(ctx, choose(h.checks(), names))}
}

// TestLocks is [CheckLocks] as subtests. It returns when all of them have ended.
func TestLocks(t *testing.T, h LockHarness) {
	t.Helper()
	show(t, h.checks())
}

// LockCases lists the promises of a lock service.
func LockCases() []Case {
	names := make([]Case, len(lockCases))
	for i, c := range lockCases {
		names[i] = c.Case
	}
	return names
}

type lockCase struct {
	Case
	body func(*lockProbe)
}

// checks binds the cases to the service.
func (h LockHarness) checks() []check {
	if h.Patience == 0 {
		h.Patience = 5 * time.Second
	}
	limit := 12*h.Patience + 20*h.TTL
	checks := make([]check, len(lockCases))
	for i, c := range lockCases {
		checks[i] = check{Case: c.Case, alone: c.Name == restartCase || c.Name == failoverCase, seed: h.Seed, limit: limit, body: func(p *probe) {
			if h.Open == nil || h.TTL <= 0 {
				p.broken("the harness needs Open and a TTL")
			}
			c.body(&lockProbe{probe: p, h: h})
		}}
	}
	return checks
}
