package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fencerow/fencerow/drill"
)

// withoutFence is set to make the workers of a drill ignore the order to use the fence.
const withoutFence = "FENCEROW_TEST_WITHOUT_FENCE"

// The test binary is also the worker that the drill starts.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == workerCommand {
		var in io.Reader = os.Stdin
		if os.Getenv(withoutFence) != "" {
			in = breakFence(in)
		}
		os.Exit(Run(context.Background(), os.Args[1:], IO{In: in, Out: os.Stdout, Err: os.Stderr}))
	}
	os.Exit(m.Run())
}

func breakFence(in io.Reader) io.Reader {
	lines := bufio.NewReader(in)
	first, _ := lines.ReadString('\n')
	return io.MultiReader(strings.NewReader(strings.Replace(first, `"`+string(drill.Fence)+`"`, `"`+string(drill.NoFence)+`"`, 1)), lines)
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
		"output of version":   {[]string{"version", "-o", "xml"}, "text or json"},
		"report is a folder":  {[]string{"drill", "--report", full}, "that is a folder"},
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
			if strings.Count(errs, "\n") > 2 {
				t.Errorf("the error is long:\n%s", errs)
			}
		})
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

func TestVersionInJSON(t *testing.T) {
	_, out, _ := command(t, "version", "-o", "json")
	var v versions
	if err := json.Unmarshal([]byte(out), &v); err != nil || v.Command == "" || v.Library == "" || !strings.HasPrefix(v.Go, "go1.") {
		t.Errorf("%v: %s", err, out)
	}
}

func TestUsageNamesTheCommandToAskAbout(t *testing.T) {
	for args, want := range map[string]string{"drill --frozen": `"fencerow drill --help"`, "--frozen": `"fencerow --help"`} {
		if _, _, errs := command(t, strings.Fields(args)...); !strings.Contains(errs, want) {
			t.Errorf("%s: %q, want %s", args, errs, want)
		}
	}
}

func TestWorkerCommandIsForTheDrill(t *testing.T) {
	code, _, errs := command(t, workerCommand)
	if code != exitInfrastructure || !strings.Contains(errs, "started by the drill") {
		t.Errorf("exit %d, %q", code, errs)
	}
}
