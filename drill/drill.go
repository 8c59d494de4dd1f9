package drill

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"
)

// The bounds of A's lease: long enough to read and decide in, short enough to wait for.
const (
	MinTTL     = 200 * time.Millisecond
	MaxTTL     = 30 * time.Second
	DefaultTTL = time.Second
)

// Config says how to drill.
type Config struct {
	// Open opens a SQLite file, in the way that package sqllock asks for.
	Open func(file string) (*sql.DB, error)
	// Worker is the command line by which this program calls [Work].
	Worker []string
	// TTL is the length of the lease that A is frozen past. Default: [DefaultTTL].
	TTL time.Duration
	// Dir is where databases and logs are kept. Default: a temporary folder that is removed.
	Dir string
	// Guards to drill. Default: all.
	Guards []Guard
	// Progress is called at the start and after each run, with the number of runs that are done and of all. Default: nobody.
	Progress func(done, all int)
}

// atOnce bounds the runs that are under way: they mostly wait for leases to end.
const atOnce = 6

// Run drills all orders under each guard and says what that has shown. The error is about the drill itself; a fence that did not
// hold is in the report.
func (cfg Config) Run(ctx context.Context) (Report, error) {
	began := time.Now()
	report := Report{Version: 1}
	if cfg.TTL == 0 {
		cfg.TTL = DefaultTTL
	}
	if len(cfg.Guards) == 0 {
		cfg.Guards = Guards
	}
	if cfg.TTL < MinTTL || cfg.TTL > MaxTTL || cfg.TTL%time.Millisecond != 0 {
		return report, fmt.Errorf("drill: the lease is %v, it must be a whole number of milliseconds from %v to %v", cfg.TTL, MinTTL, MaxTTL)
	}
	if cfg.Open == nil || len(cfg.Worker) == 0 {
		return report, errors.New("drill: a config needs Open and Worker")
	}
	dir := cfg.Dir
	if dir == "" {
		var err error
		if dir, err = os.MkdirTemp("", "fencerow-drill-"); err != nil {
			return report, err
		}
		defer os.RemoveAll(dir)
	} else {
		report.Dir = dir
	}
	var err error
	if report.Runs, err = cfg.performAll(ctx, dir); err != nil {
		return report, err
	}
	conclude(&report)
	report.TookMS = time.Since(began).Milliseconds()
	return report, nil
}

// performAll keeps the order of the runs whichever ends first. The first failure ends the others.
func (cfg Config) performAll(ctx context.Context, dir string) ([]Run, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	runs := make([]Run, len(Orders)*len(cfg.Guards))
	slots := make(chan struct{}, atOnce)
	var mu sync.Mutex
	done := 0
	progress := func() {
		if cfg.Progress != nil {
			cfg.Progress(done, len(runs))
		}
	}
	progress()
	var wg sync.WaitGroup
	for i := range runs {
		order, guard := Orders[i/len(cfg.Guards)], cfg.Guards[i%len(cfg.Guards)]
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			if ctx.Err() != nil {
				return
			}
			run, err := perform(ctx, cfg, dir, order, guard)
			if err != nil {
				cancel(err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			runs[i] = run
			done++
			progress()
		})
	}
	wg.Wait()
	return runs, context.Cause(ctx)
}
