package fencerowtest_test

import (
	"context"
	"sync"
	"time"

	"github.com/fencerow/fencerow/driver"
	"github.com/fencerow/fencerow/fencerowtest"
)

// fakeWire is a handle of the fake and the way to its server.
type fakeWire struct {
	*fakeHandle
	fakeWay
}

// fakeWay carries requests, or does not.
type fakeWay struct {
	mu       sync.Mutex
	losing   bool
	holding  bool
	restored chan struct{} // closed by Restore
}

func (f *fakeServer) openWired(ctx context.Context) (driver.LockService, fencerowtest.Wire, error) {
	svc, err := f.open(ctx)
	w := &fakeWire{fakeHandle: svc.(*fakeHandle), fakeWay: fakeWay{restored: make(chan struct{})}}
	return w, w, err
}

func (w *fakeWay) LoseReplies()  { w.set(true, false) }
func (w *fakeWay) HoldRequests() { w.set(false, true) }
func (w *fakeWay) Restore()      { w.set(false, false) }

func (w *fakeWay) set(losing, holding bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.losing, w.holding = losing, holding
	if !losing && !holding {
		close(w.restored)
		w.restored = make(chan struct{})
	}
}

// send carries one request. One that is held arrives later, whether or not anybody waits for its answer.
func (w *fakeWay) send(ctx context.Context, request func()) error {
	w.mu.Lock()
	losing, holding, restored := w.losing, w.holding, w.restored
	w.mu.Unlock()
	switch {
	case holding:
		go func() {
			<-restored
			request()
		}()
	case losing:
		request()
	default:
		request()
		return nil
	}
	<-ctx.Done()
	return ctx.Err()
}

func (w *fakeWire) Acquire(ctx context.Context, r driver.Request) (g driver.Grant, err error) {
	lost := w.send(ctx, func() {
		if w.mistake == lostAcquireIsKept {
			time.Sleep(5 * time.Millisecond) // so that it comes behind its clean-up, which takes another connection
		}
		g, err = w.fakeHandle.Acquire(context.WithoutCancel(ctx), r)
	})
	if lost != nil {
		if w.mistake == lostAcquireIsKept {
			w.keepForEver(r)
		}
		return driver.Grant{}, lost
	}
	return g, err
}

// keepForEver prolongs whatever the request takes, as a handle does whose leases are kept alive together.
func (w *fakeWire) keepForEver(r driver.Request) {
	go func() {
		for {
			select {
			case <-w.fakeServer.ended:
				return
			case <-time.After(r.TTL / 4):
				_ = w.fakeHandle.Renew(context.Background(), driver.Grant{Resource: r.Resource, GrantID: r.GrantID}, r.TTL)
			}
		}
	}()
}

func (w *fakeWire) AcquireQueued(ctx context.Context, r driver.Request) (g driver.Grant, err error) {
	return w.fakeHandle.AcquireQueued(ctx, r)
}

func (w *fakeWire) Renew(ctx context.Context, g driver.Grant, ttl time.Duration) (err error) {
	lost := w.send(ctx, func() { err = w.fakeHandle.Renew(context.WithoutCancel(ctx), g, ttl) })
	if lost != nil {
		w.fakeHandle.mu.Lock()
		w.lock(g.Resource).unheard = true
		w.fakeHandle.mu.Unlock()
		return lost
	}
	return err
}

func (w *fakeWire) Release(ctx context.Context, g driver.Grant) (err error) {
	if lost := w.send(ctx, func() { err = w.fakeHandle.Release(context.WithoutCancel(ctx), g) }); lost != nil {
		return lost
	}
	return err
}
