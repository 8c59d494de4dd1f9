package turns

import (
	"context"
	"errors"
	"sync"
	"testing"
)

func TestTurns(t *testing.T) {
	var all Turns
	var wg sync.WaitGroup
	inside := map[string]int{"a": 0, "b": 0}
	var mu sync.Mutex
	for range 50 {
		for _, name := range []string{"a", "b"} {
			wg.Go(func() {
				end, err := all.Take(context.Background(), name)
				if err != nil {
					t.Error(err)
					return
				}
				defer end()
				mu.Lock()
				inside[name]++
				if inside[name] != 1 {
					t.Errorf("%d are inside %s", inside[name], name)
				}
				mu.Unlock()
				mu.Lock()
				inside[name]--
				mu.Unlock()
			})
		}
	}
	wg.Wait()
	if len(all.names) != 0 {
		t.Errorf("%d names are left", len(all.names))
	}
}

func TestTurnThatIsNotWaitedFor(t *testing.T) {
	var all Turns
	end, err := all.Take(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := all.Take(ctx, "a"); !errors.Is(err, context.Canceled) {
		t.Errorf("take = %v", err)
	}
	end()
	if len(all.names) != 0 {
		t.Errorf("%d names are left", len(all.names))
	}
}
