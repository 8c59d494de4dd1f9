package locks

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/fencerow/fencerow"
	"github.com/fencerow/fencerow/driver"
	"github.com/fencerow/fencerow/fence/sqlfence"
)

// A resource moves around all lock services, each time while the old one tries to go on.
func TestHandoverAroundAllServices(t *testing.T) {
	gate, err := sqlfence.OpenGate(t.Context(), openDB(t, "sqlite", sqliteDSN(t)), sqlfence.SQLite, nil)
	if err != nil {
		t.Fatal(err)
	}
	nothing := func(context.Context, *sqlfence.Tx) error { return nil }
	var from driver.LockService
	var last *fencerow.Lease
	for _, kind := range []string{"sqlite", "redis", "etcd", "zookeeper", "mariadb", "postgres"} {
		to := open(t, kind, addresses[kind](t), "handover-around")
		if from != nil {
			// While the old one still grants nothing moves.
			if _, err := fencerow.Handover(t.Context(), from, to, account); !errors.Is(err, fencerow.ErrHeld) {
				t.Fatalf("to %s while it is held: %v", kind, err)
			}
			release(t, last)
			above, err := fencerow.Handover(t.Context(), from, to, account)
			if err != nil {
				t.Fatalf("to %s: %v", kind, err)
			}
			if above < last.Token().Number() {
				t.Errorf("to %s: the highest number is %d, %d was granted", kind, above, last.Token().Number())
			}
			if again, err := fencerow.Handover(t.Context(), from, to, account); err != nil || again < above {
				t.Errorf("to %s once more: %d, %v", kind, again, err)
			}
			_, err = newLocker(t, from, fencerow.Options{}).Acquire(t.Context(), account)
			if !errors.Is(err, fencerow.ErrRetired) {
				t.Errorf("the old service after the hand-over to %s: %v, want ErrRetired", kind, err)
			}
		}
		lease := acquire(t, newLocker(t, to, fencerow.Options{TTL: 10 * time.Second}), account)
		if last != nil {
			if lease.Token().Number() <= last.Token().Number() {
				t.Errorf("%s granted %d after %d", kind, lease.Token().Number(), last.Token().Number())
			}
			// The gate follows one source until it is told.
			if err := gate.Tx(t.Context(), lease.Stamp(), account, nothing); !errors.Is(err, fencerow.ErrMismatch) {
				t.Errorf("a token of %s at a gate that follows %s: %v", lease.Token().Source(), last.Token().Source(), err)
			}
			lease = acquireAgain(t, to, lease)
			for range 2 {
				if err := gate.Handover(t.Context(), account, last.Token().Source(), lease.Token().Source()); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := gate.Tx(t.Context(), lease.Stamp(), account, nothing); err != nil {
			t.Fatalf("%s: %v", kind, err)
		}
		if last != nil {
			if err := gate.Tx(t.Context(), last.Token().Stamp(99), account, nothing); !errors.Is(err, fencerow.ErrMismatch) {
				t.Errorf("the old service's token after the hand-over: %v", err)
			}
			if err := gate.Handover(t.Context(), account, "elsewhere:1", "elsewhere:2"); !errors.Is(err, fencerow.ErrMismatch) {
				t.Errorf("a hand-over from a source that the gate does not follow: %v", err)
			}
		}
		from, last = to, lease
	}
}

// acquireAgain takes another lease: the refusal may have ended the first.
func acquireAgain(t *testing.T, svc driver.LockService, lease *fencerow.Lease) *fencerow.Lease {
	t.Helper()
	_ = lease.Release(t.Context())
	return acquire(t, newLocker(t, svc, fencerow.Options{TTL: 10 * time.Second}), account)
}
