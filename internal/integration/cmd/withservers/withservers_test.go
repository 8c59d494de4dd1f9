package main

import (
	"bufio"
	"database/sql"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fencerow/fencerow/internal/integration/servers"
)

// The test binary stands for the command: with actAsCommand set it is withservers itself.
const actAsCommand = "FENCEROW_TEST_ACT_AS_WITHSERVERS"

func TestMain(m *testing.M) {
	if os.Getenv(actAsCommand) != "" {
		main()
	}
	os.Exit(m.Run())
}

// withServers prepares "withservers -- sh -c script", without a given server.
func withServers(t *testing.T, script string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0], "--", "sh", "-c", script)
	cmd.Env = append(os.Environ(), actAsCommand+"=1", servers.PostgresEnv+"=", "TMPDIR="+openTemp(t))
	for _, kind := range servers.Kinds {
		if kind.Env != servers.PostgresEnv { // one server stands for all
			cmd.Env = append(cmd.Env, kind.Env+"=given")
		}
	}
	cmd.Stderr = os.Stderr
	return cmd
}

// openTemp makes a temporary folder that every user can enter, as a server's data must be.
func openTemp(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "fencerow-withservers-test-")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o777|os.ModeSticky); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		left, err := filepath.Glob(filepath.Join(dir, "*"))
		if err != nil || len(left) > 0 {
			t.Errorf("%v, left behind: %q", err, left)
		}
		_ = os.RemoveAll(dir)
	})
	return dir
}

func needServer(t *testing.T) {
	t.Helper()
	s, err := servers.StartPostgres(t.Context())
	if errors.Is(err, exec.ErrNotFound) && os.Getenv("CI") == "" {
		t.Skip(err)
	} else if err != nil {
		t.Fatal(err)
	}
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
}

// answers reports whether a server is there.
func answers(t *testing.T, url string) bool {
	t.Helper()
	db, err := sql.Open("pgx", url)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	return db.Ping() == nil
}

func TestExitCodes(t *testing.T) {
	needServer(t)
	for script, want := range map[string]int{
		"test -n \"$FENCEROW_POSTGRES_URL\"": 0,
		"exit 7":                             7,
		"kill -9 $$":                         137,
	} {
		cmd := withServers(t, script)
		err := cmd.Run()
		if got := cmd.ProcessState.ExitCode(); got != want {
			t.Errorf("%s: %d, %v, want %d", script, got, err, want)
		}
	}
}

func TestGivenServerIsPassedOn(t *testing.T) {
	cmd := withServers(t, "echo $FENCEROW_POSTGRES_URL")
	cmd.Env = append(cmd.Env, servers.PostgresEnv+"=given")
	if out, err := cmd.Output(); err != nil || string(out) != "given\n" {
		t.Errorf("%q, %v, want the given URL", out, err)
	}
}

func TestMissingCommand(t *testing.T) {
	cmd := withServers(t, "")
	cmd.Args = []string{os.Args[0], "--", filepath.Join(t.TempDir(), "none")}
	cmd.Env = append(cmd.Env, servers.PostgresEnv+"=given")
	_ = cmd.Run()
	if got := cmd.ProcessState.ExitCode(); got != 127 {
		t.Errorf("a command that does not exist: %d, want 127", got)
	}
}

// The shell looks at its trap when sleep has ended, so both must get the signal.
const sleeper = `trap 'echo got it; exit 9' TERM INT HUP; echo "$FENCEROW_POSTGRES_URL"; sleep 600`

func TestSignalsEndEverything(t *testing.T) {
	needServer(t)
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		t.Run(sig.String(), func(t *testing.T) {
			cmd := withServers(t, sleeper)
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			lines := bufio.NewScanner(out)
			lines.Scan()
			url := lines.Text()
			if !answers(t, url) {
				t.Errorf("no server at %q", url)
			}
			if err := cmd.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			lines.Scan()
			if lines.Text() != "got it" {
				t.Errorf("the command says %q", lines.Text())
			}
			_ = cmd.Wait()
			if got := cmd.ProcessState.ExitCode(); got != 9 {
				t.Errorf("exit code %d, want that of the command, 9", got)
			}
			if answers(t, url) {
				t.Error("the server is still there")
			}
		})
	}
}

func TestSignalWhileTheServersStart(t *testing.T) {
	needServer(t)
	cmd := withServers(t, "true")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(100 * time.Millisecond) // initdb takes longer than that
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	// Where the start was quicker, the signal reached the command, or nobody.
	if got := cmd.ProcessState.ExitCode(); got != serverFailed && got != 143 && got != 0 {
		t.Errorf("exit code %d", got)
	}
}

// A shell that is killed passes nothing on.
func TestEndOfTheParentEndsEverything(t *testing.T) {
	needServer(t)
	inner := withServers(t, sleeper)
	shell := exec.Command("sh", "-c", `"$@" & wait`, "sh")
	shell.Args = append(shell.Args, inner.Args...)
	shell.Env, shell.Stderr = inner.Env, os.Stderr
	out, err := shell.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := shell.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	lines.Scan()
	url := lines.Text()
	if !answers(t, url) {
		t.Errorf("no server at %q", url)
	}
	if err := shell.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	// Everybody holds the pipe, so its end is theirs.
	var said []string
	for lines.Scan() {
		said = append(said, lines.Text())
	}
	_ = shell.Wait()
	if got := strings.Join(said, ","); got != "got it" {
		t.Errorf("the command says %q", got)
	}
	if answers(t, url) {
		t.Error("the server is still there")
	}
}
