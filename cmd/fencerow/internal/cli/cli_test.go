package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fencerow/fencerow/drill"
)

// The test binary is also the worker that the drill starts.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == workerCommand {
		os.Exit(Run(context.Background(), os.Args[1:], IO{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}))
	}
	os.Exit(m.Run())
}

// command runs a command line.
func command(t *testing.T, args ...string) (code int, out, errs string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code = Run(t.Context(), args, IO{In: strings.NewReader(""), Out: &stdout, Err: &stderr})
	return code, stdout.String(), stderr.String()
}

func TestWrongCommandLines(t *testing.T) {
	full := t.TempDir()
	if err := os.WriteFile(filepath.Join(full, "precious"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		args []string
		says string
	}{
		"unknown command":     {[]string{"dril"}, `did you mean "drill"`},
		"nothing like it":     {[]string{"xyzzy"}, `no command "xyzzy"`},
		"unknown flag":        {[]string{"drill", "--frozen"}, "unknown flag: --frozen"},
		"argument":            {[]string{"drill", "now"}, `not "now"`},
		"output":              {[]string{"drill", "-o", "yaml"}, "text or json"},
		"TTL too short":       {[]string{"drill", "--ttl", "1ms"}, "from 200ms to 30s"},
		"TTL too long":        {[]string{"drill", "--ttl", "1h"}, "from 200ms to 30s"},
		"TTL negative":        {[]string{"drill", "--ttl", "-1s"}, "from 200ms to 30s"},
		"TTL without a unit":  {[]string{"drill", "--ttl", "5"}, "--ttl"},
		"TTL of microseconds": {[]string{"drill", "--ttl", "300ms1us"}, "whole number of milliseconds"},
		"report nowhere":      {[]string{"drill", "--report", "/nonexistent/drill.html"}, "/nonexistent does not exist"},
		"picture nowhere":     {[]string{"drill", "--svg", "/nonexistent/drill.svg"}, "/nonexistent does not exist"},
		"folder in use":       {[]string{"drill", "--dir", full}, "not empty"},
		"folder is a file":    {[]string{"drill", "--dir", filepath.Join(full, "precious")}, "precious"},
	} {
		t.Run(name, func(t *testing.T) {
			code, out, errs := command(t, c.args...)
			if code != exitUsage || out != "" || !strings.Contains(errs, c.says) {
				t.Errorf("exit %d, output %q, error %q; want exit 2 and an error that says %q", code, out, errs, c.says)
			}
			if strings.Count(errs, "\n") > 3 {
				t.Errorf("the error is long:\n%s", errs)
			}
		})
	}
}

func TestDrillInText(t *testing.T) {
	page := filepath.Join(t.TempDir(), "drill.html")
	code, out, errs := command(t, "drill", "--ttl", "300ms", "--report", page)
	if code != exitFine || errs != "" {
		t.Fatalf("exit %d, error %q\n%s", code, errs, out)
	}
	if first, _, _ := strings.Cut(out, "\n"); !strings.Contains(first, "Every stale write was refused") {
		t.Errorf("the first line is %q", first)
	}
	if strings.Contains(out, "\x1b") {
		t.Error("colours in a pipe")
	}
	text, err := os.ReadFile(page)
	if err != nil || !strings.Contains(string(text), "<svg") {
		t.Errorf("the report: %v", err)
	}
}

func TestDrillInJSON(t *testing.T) {
	code, out, errs := command(t, "drill", "--ttl", "300ms", "-o", "json")
	var report drill.Report
	if err := json.Unmarshal([]byte(out), &report); code != exitFine || errs != "" || err != nil {
		t.Fatalf("exit %d, error %q, %v", code, errs, err)
	}
	if !report.Passed || report.Version != 1 || len(report.Runs) != 9 {
		t.Errorf("passed %v, version %d, %d runs", report.Passed, report.Version, len(report.Runs))
	}
}

func TestDrillKeepsAFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "folder")
	code, out, errs := command(t, "drill", "--ttl", "300ms", "--dir", dir)
	if code != exitFine || !strings.Contains(out, dir) {
		t.Fatalf("exit %d, error %q\n%s", code, errs, out)
	}
	for _, name := range []string{"drill.db", "worker-A.log", "worker-B.log"} {
		if _, err := os.Stat(filepath.Join(dir, "b-writes-first-fence", name)); err != nil {
			t.Error(err)
		}
	}
}

func TestInterruptedDrill(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out, errs bytes.Buffer
	if code := Run(ctx, []string{"drill"}, IO{In: strings.NewReader(""), Out: &out, Err: &errs}); code != exitInfrastructure || out.Len() > 0 {
		t.Errorf("exit %d, output %q, error %q", code, out.String(), errs.String())
	}
}

func TestHelpShowsTheCommands(t *testing.T) {
	code, out, _ := command(t)
	if code != exitFine || !strings.Contains(out, "drill ") || !strings.Contains(out, "version ") {
		t.Errorf("exit %d:\n%s", code, out)
	}
	if strings.Contains(out, workerCommand) {
		t.Errorf("the worker's command is for the drill only:\n%s", out)
	}
	if _, out, _ := command(t, "drill", "--help"); !strings.Contains(out, "--report") || !strings.Contains(out, "Examples:") {
		t.Errorf("drill --help:\n%s", out)
	}
}

func TestVersion(t *testing.T) {
	if code, out, errs := command(t, "version"); code != exitFine || !strings.HasPrefix(out, "fencerow ") {
		t.Errorf("exit %d, %q, %q", code, out, errs)
	}
}

func TestWorkerCommandIsForTheDrill(t *testing.T) {
	code, _, errs := command(t, workerCommand)
	if code != exitInfrastructure || !strings.Contains(errs, "started by the drill") {
		t.Errorf("exit %d, %q", code, errs)
	}
}
