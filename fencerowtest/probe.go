package fencerowtest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"
)

// probe is what a case works with. Its methods that end the case may be called by the goroutine of the case only.
type probe struct {
	ctx      context.Context
	cleanups []func()
	seed     uint64
	usedSeed atomic.Bool
}

// violation and absence end a case from within.
type (
	violation struct{ detail string }
	absence   struct{ detail string }
)

// broken ends the case: the promise was broken.
func (p *probe) broken(format string, args ...any) {
	panic(violation{fmt.Sprintf(format, args...)})
}

// notOffered ends the case: the subject has no such ability.
func (p *probe) notOffered(what string) { panic(absence{what}) }

// need ends the case unless the subject has an ability. What says what is missing.
func (p *probe) need(offered bool, what string) {
	if !offered {
		p.notOffered(what)
	}
}

// ok ends the case if an operation failed that should have succeeded.
func (p *probe) ok(err error, what string, args ...any) {
	if err != nil {
		p.broken("%s: %v", fmt.Sprintf(what, args...), err)
	}
}

// cleanup is called after the case, the latest first.
func (p *probe) cleanup(fn func()) { p.cleanups = append(p.cleanups, fn) }

func (p *probe) cleanUp() {
	for _, fn := range slices.Backward(p.cleanups) {
		fn()
	}
}

// random returns a source of random delays for one goroutine, and may be called by it. A violation that is found with its help
// names the seed.
func (p *probe) random(stream int64) *rand.Rand {
	p.usedSeed.Store(true)
	return rand.New(rand.NewPCG(p.seed, uint64(stream)))
}

// wait lets time pass where there is no event to wait for: a lock service measures it.
func (p *probe) wait(d time.Duration) { _ = pause(p.ctx, d) }

// pause waits for a time or for the end of ctx.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
