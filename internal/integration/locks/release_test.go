package locks

import (
	"errors"
	"testing"

	"github.com/fencerow/fencerow/driver"
)

// A client may send a release again whose reply was lost. Services that remember the grant say that it was released, not that it
// was lost, until somebody follows.
func TestReleaseThatIsSentTwice(t *testing.T) {
	for _, kind := range []string{"redis", "postgres", "mariadb", "sqlite"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			svc := open(t, kind, addresses[kind](t), "release-twice")
			first, err := svc.Acquire(t.Context(), request("first"))
			if err != nil {
				t.Fatal(err)
			}
			for range 2 {
				if err := svc.Release(t.Context(), first); err != nil {
					t.Errorf("release: %v", err)
				}
			}
			second, err := svc.Acquire(t.Context(), request("second"))
			if err != nil || second.Number <= first.Number {
				t.Fatalf("the next grant after %+v: %+v, %v", first, second, err)
			}
			if err := svc.Release(t.Context(), first); !errors.Is(err, driver.ErrNotCurrent) {
				t.Errorf("release after somebody followed: %v", err)
			}
			if err := svc.Release(t.Context(), second); err != nil {
				t.Errorf("the successor's release: %v", err)
			}
		})
	}
}
