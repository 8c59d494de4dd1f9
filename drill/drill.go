package drill

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
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
	// Dir is where databases and logs are kept. Default: a temporary folder.
	Dir string
	// Keep leaves the temporary folder where it is. Default: it is removed.
	Keep bool
	// Guards to drill. Default: all.
	Guards []Guard
	// Progress is called at the start and after each run, with the number of runs that are done and of all. Default: nobody.
	Progress func(done, all int)
}

// atOnce bounds the runs that are under way: they mostly wait for leases to end.
const atOnce = 6

// overhead is the time that a drill may take beside the waits for leases. On an idle machine it takes a tenth of a second.
const overhead = 16 * time.Second

// Run drills all orders under each guard and says what that has shown. The error is about the drill itself; a fence that did not
// hold is in the report. When Run returns, no worker is left. If the context ends, the error carries its cause and says what the
// drill was waiting for. A folder that is kept is named in the report also when there is an error.
func (cfg Config) Run(ctx context.Context) (Report, error) {
	began := time.Now()
	if cfg.TTL == 0 {
		cfg.TTL = DefaultTTL
	}
	if len(cfg.Guards) == 0 {
		cfg.Guards = Guards
	}
	report := Report{Version: 1, TTLMS: cfg.TTL.Milliseconds()}
	if cfg.TTL < MinTTL || cfg.TTL > MaxTTL || cfg.TTL%time.Millisecond != 0 {
		return report, fmt.Errorf("drill: the lease is %v, it must be a whole number of milliseconds from %v to %v", cfg.TTL, MinTTL, MaxTTL)
	}
	if cfg.Open == nil || len(cfg.Worker) == 0 {
		return report, errors.New("drill: a config needs Open and Worker")
	}
	dir, remove, err := cfg.folder()
	if err != nil {
		return report, fmt.Errorf("drill: a folder for databases and logs: %w", err)
	}
	defer remove()
	if cfg.Dir != "" || cfg.Keep {
		report.Dir = dir
	}
	limit := cfg.limit()
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("the drill is not done after %v; is the machine busy?", limit))
	defer cancel()
	if report.Runs, err = cfg.performAll(ctx, dir); err != nil {
		return report, err
	}
	conclude(&report)
	report.TookMS = time.Since(began).Milliseconds()
	return report, nil
}

// folder returns where databases and logs go, as an absolute path because a worker may look at it from elsewhere.
func (cfg Config) folder() (dir string, remove func(), err error) {
	if cfg.Dir != "" {
		if dir, err = filepath.Abs(cfg.Dir); err == nil {
			err = os.MkdirAll(dir, 0o755)
		}
		return dir, func() {}, err
	}
	dir, err = os.MkdirTemp("", "fencerow-drill-")
	if err != nil || cfg.Keep {
		return dir, func() {}, err
	}
	return dir, func() { _ = os.RemoveAll(dir) }, nil
}

// limit bounds the whole drill: 20 s for leases of a second. A run waits for two leases at most.
func (cfg Config) limit() time.Duration {
	waves := (len(Orders)*len(cfg.Guards) + atOnce - 1) / atOnce
	return time.Duration(2*waves)*cfg.TTL + overhead
}

// performAll keeps the order of the runs whichever ends first. The first failure ends the others.
func (cfg Config) performAll(ctx context.Context, dir string) ([]Run, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	runs := make([]Run, len(Orders)*len(cfg.Guards))
	slots := make(chan struct{}, atOnce)
	var mu sync.Mutex
	var failed error
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
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				runs[i] = run
				done++
				progress()
			case failed == nil:
				failed = err
				cancel()
			}
		})
	}
	wg.Wait()
	if failed == nil && done < len(runs) {
		failed = context.Cause(ctx)
	}
	return runs, failed
}
