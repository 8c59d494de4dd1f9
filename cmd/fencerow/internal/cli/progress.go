package cli

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
)

// progressLine returns a function that shows on a terminal how far a command is, and one that takes the line away. Elsewhere both
// do nothing. The line moves while nothing gets done, so that waiting does not look like hanging.
func progressLine(out io.Writer, unit string) (show func(done, all int), clear func()) {
	if _, ok := terminal(out); !ok {
		return nil, func() {}
	}
	began := time.Now()
	full, empty := "█", "░"
	if asciiOnly(os.Getenv) {
		full, empty = "#", "."
	}
	var mu sync.Mutex
	done, all := 0, 0
	draw := func() {
		mu.Lock()
		defer mu.Unlock()
		if all == 0 {
			return
		}
		const width = 24
		n := width * done / all
		fmt.Fprintf(out, "\r%s%s  %d of %d %s, %.1f s", strings.Repeat(full, n), strings.Repeat(empty, width-n), done, all, unit, time.Since(began).Seconds())
	}
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				return
			case <-tick.C:
				draw()
			}
		}
	})
	show = func(d, a int) {
		mu.Lock()
		done, all = d, a
		mu.Unlock()
		draw()
	}
	return show, func() {
		close(stop)
		wg.Wait()
		fmt.Fprint(out, "\r\x1b[K")
	}
}
