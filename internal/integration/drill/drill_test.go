// Package drill runs the drill for real: processes, signals, SQLite files.
package drill

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fencerow/fencerow/drill"

	_ "modernc.org/sqlite" // the driver that the drill is given
)

// The test binary is also the worker that the drill starts, in three variants.
const (
	workerMode   = "worker"
	unfencedMode = "worker-without-fence"
	drillMode    = "drill"
)

func TestMain(m *testing.M) {
	if len(os.Args) == 2 {
		switch os.Args[1] {
		case workerMode:
			exit(drill.Work(context.Background(), open, os.Stdin, os.Stdout, os.Stderr))
		case unfencedMode:
			exit(drill.Work(context.Background(), open, withoutFence(os.Stdin), os.Stdout, os.Stderr))
		case drillMode:
			_, err := config(workerMode).Run(context.Background())
			exit(err)
		}
	}
	os.Exit(m.Run())
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func open(file string) (*sql.DB, error) {
	return sql.Open("sqlite", "file:"+file+"?_txlock=immediate&_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)")
}

// withoutFence turns the order to use the fence into one not to.
func withoutFence(in io.Reader) io.Reader {
	lines := bufio.NewReader(in)
	first, _ := lines.ReadString('\n')
	return io.MultiReader(strings.NewReader(strings.Replace(first, `"`+string(drill.Fence)+`"`, `"`+string(drill.NoFence)+`"`, 1)), lines)
}

func config(mode string) drill.Config {
	self, err := os.Executable()
	if err != nil {
		exit(err)
	}
	return drill.Config{Open: open, Worker: []string{self, mode}, TTL: 500 * time.Millisecond}
}

func TestFrozenWorkerIsRefusedInEachOrder(t *testing.T) {
	cfg := config(workerMode)
	cfg.Dir = filepath.Join(t.TempDir(), "kept")
	report, err := cfg.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !report.Passed || len(report.Runs) != len(drill.Orders)*len(drill.Guards) {
		t.Errorf("passed: %v, %d runs: %s", report.Passed, len(report.Runs), report.Verdict)
	}
	for _, run := range report.Runs {
		want := drill.Safe
		if run.Guard != drill.Fence {
			want = drill.Corrupted
			if run.Order == drill.CrashesAfterClaim {
				want = drill.Undamaged // nobody but A has written before C looks
			}
		}
		if run.Outcome != want {
			t.Errorf("%s, %s: %s, want %s: %+v", run.Title, run.Guard, run.Outcome, want, run.Checks)
		}
		if got := freeze(run); !slices.Equal(got, []string{"A frozen", "A lease-ended", "B granted", "A thawed", "A wrote"}) {
			t.Errorf("%s, %s: the freeze went %q", run.Title, run.Guard, got)
		}
		checkLogs(t, cfg.Dir, run)
		if rejected := strings.Contains(strings.Join(run.Log, "\n"), "lock_fence_rejected"); rejected != (run.Guard == drill.Fence) {
			t.Errorf("%s, %s: A has logged\n%s", run.Title, run.Guard, strings.Join(run.Log, "\n"))
		}
	}
	noChildren(t)
}

// freeze returns the steps that make the drill one, in the order in which they have happened.
func freeze(run drill.Run) (steps []string) {
	for _, e := range run.Events {
		switch step := e.Worker + " " + string(e.Kind); step {
		case "A frozen", "A lease-ended", "B granted", "A thawed", "A wrote":
			steps = append(steps, step)
		}
	}
	return steps
}

// checkLogs looks for each write in its worker's log. Whatever guards it, its line names the token, so that it can be traced.
func checkLogs(t *testing.T, dir string, run drill.Run) {
	t.Helper()
	for _, e := range run.Events {
		if e.Kind != drill.Wrote {
			continue
		}
		file := filepath.Join(dir, string(run.Order)+"-"+string(run.Guard), "worker-"+e.Worker+".log")
		text, err := os.ReadFile(file)
		token, verdict := fmt.Sprintf(`"fence_token":%d,`, e.Token), fmt.Sprintf(`"verdict":%q`, e.Verdict)
		found := slices.ContainsFunc(strings.Split(string(text), "\n"), func(line string) bool {
			return strings.Contains(line, token) && strings.Contains(line, verdict)
		})
		if err != nil || !found {
			t.Errorf("%s has no line with %s and %s: %v\n%s", file, token, verdict, err, text)
		}
	}
}

// A judge that cannot go red judges nothing.
func TestDrillGoesRedWhenTheFenceIsTakenOut(t *testing.T) {
	cfg := config(unfencedMode)
	cfg.Guards = []drill.Guard{drill.Fence}
	report, err := cfg.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if report.Passed {
		t.Errorf("passed without a fence: %s", report.Verdict)
	}
	for _, run := range report.Runs {
		if run.Outcome == drill.Safe {
			t.Errorf("%s is called safe without a fence", run.Title)
		}
	}
}

func TestCancelledDrillLeavesNoWorker(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	failed := make(chan error, 1)
	go func() {
		_, err := config(workerMode).Run(ctx)
		failed <- err
	}()
	waitFor(t, "a frozen worker", func() bool { return len(children(t, os.Getpid(), "T")) > 0 })
	cancel()
	select {
	case err := <-failed:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("the cancelled drill says %v", err)
		}
		named := func(order drill.Order) bool { return strings.Contains(err.Error(), order.Title()) }
		if !slices.ContainsFunc(drill.Orders, named) {
			t.Errorf("the cancelled drill does not say what it was doing: %v", err)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("the cancelled drill goes on")
	}
	noChildren(t)
}

func TestKilledDrillTakesItsFrozenWorkersAlong(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, drillMode)
	cmd.Env = append(os.Environ(), "TMPDIR="+t.TempDir()) // which a killed drill cannot tidy
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var frozen []int
	waitFor(t, "a frozen worker", func() bool {
		frozen = children(t, cmd.Process.Pid, "T")
		return len(frozen) > 0
	})
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	for _, pid := range frozen {
		waitFor(t, "the end of a frozen worker", func() bool { return state(pid) == "" || state(pid) == "Z" })
	}
}

func TestDrillNamesAWorkerThatFails(t *testing.T) {
	for name, c := range map[string]struct {
		worker []string
		says   string
	}{
		"not there":       {[]string{"/nonexistent/worker"}, "start worker A"},
		"ends at once":    {[]string{"false"}, "worker A"},
		"finds no lease":  {[]string{"sh", "-c", `echo '{"worker":"A","kind":"gone"}'; exec sleep 60`}, "needs a longer one"},
		"is another tool": {[]string{"cat"}, "worker A"},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := config(workerMode)
			cfg.Worker = c.worker
			if name == "is another tool" {
				// cat repeats its instructions and waits: only a limit ends that.
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				if _, err := cfg.Run(ctx); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("%v", err)
				}
				noChildren(t)
				return
			}
			if _, err := cfg.Run(t.Context()); err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v, want an error that says %q", err, c.says)
			}
			noChildren(t)
		})
	}
}

func TestReportIsJSON(t *testing.T) {
	cfg := config(workerMode)
	cfg.Guards = []drill.Guard{drill.Fence}
	report, err := cfg.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(report)
	if err != nil {
		t.Fatal(err)
	}
	var back drill.Report
	if err := json.Unmarshal(text, &back); err != nil || len(back.Runs) != 3 || back.Runs[0].Row.Token != 2 {
		t.Errorf("%v: %s", err, text)
	}
}

// children returns the processes of a parent that are in a state, all states if it is empty.
func children(t *testing.T, parent int, in string) (pids []int) {
	t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil || len(stats) == 0 {
		t.Fatalf("this test reads /proc: %v", err)
	}
	for _, stat := range stats {
		fields := statFields(stat)
		if len(fields) < 2 || fields[1] != strconv.Itoa(parent) || (in != "" && fields[0] != in) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(stat)))
		if err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// statFields returns what follows the name in a stat file of /proc: state, parent and so on.
func statFields(file string) []string {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil
	}
	return strings.Fields(string(text)[strings.LastIndexByte(string(text), ')')+1:])
}

// state is empty for a process that is gone.
func state(pid int) string {
	if fields := statFields(fmt.Sprintf("/proc/%d/stat", pid)); len(fields) > 0 {
		return fields[0]
	}
	return ""
}

func noChildren(t *testing.T) {
	t.Helper()
	waitFor(t, "the end of all workers", func() bool { return len(children(t, os.Getpid(), "")) == 0 })
}

func waitFor(t *testing.T, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !done(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}
