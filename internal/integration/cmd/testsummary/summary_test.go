package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// goTest runs the real "go test -json" on a module with the files and feeds the summary.
func goTest(t *testing.T, noSkips bool, files map[string]string) (string, bool) {
	t.Helper()
	dir := t.TempDir()
	files["go.mod"] = "module example.com/m\n\ngo 1.25.0\n"
	for name, text := range files {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("go", "test", "-json", "./...")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=")
	stream, err := cmd.Output()
	if _, isExit := err.(*exec.ExitError); err != nil && !isExit {
		t.Fatal(err)
	}
	return summarize(t, noSkips, string(stream))
}

func summarize(t *testing.T, noSkips bool, stream string) (string, bool) {
	t.Helper()
	var out strings.Builder
	s := newSummary(&out, noSkips)
	if err := s.read(strings.NewReader(stream)); err != nil {
		t.Fatal(err)
	}
	ok := s.finish()
	last := regexp.MustCompile(`(?:^|\n)\d+ passed, \d+ failed, \d+ skipped\n$`)
	if !last.MatchString(out.String()) {
		t.Errorf("the last line is wrong:\n%s", out.String())
	}
	return out.String(), ok
}

const passing = `package m
import "testing"
func TestPass(t *testing.T) { t.Log("not to be seen") }
func TestParent(t *testing.T) { t.Run("one", func(t *testing.T) {}); t.Run("two", func(t *testing.T) {}) }
`

const skipping = `package m
import "testing"
func TestPass(t *testing.T) {}
func TestSkip(t *testing.T) { t.Skip("no server here") }
func TestSkipNow(t *testing.T) { t.SkipNow() }
`

func TestSummary(t *testing.T) {
	for name, c := range map[string]struct {
		files   map[string]string
		noSkips bool
		ok      bool
		shows   []string
		hides   []string
	}{
		"all pass": {
			files: map[string]string{"m_test.go": passing, "empty/e.go": "package e\n"},
			ok:    true,
			shows: []string{"ok  \texample.com/m\t", "?   \texample.com/m/empty\t[no test files]", "\n4 passed, 0 failed, 0 skipped\n"},
			hides: []string{"not to be seen", "=== RUN", "PASS", "skipped:"},
		},
		"a skip outside CI": {
			files: map[string]string{"m_test.go": skipping},
			ok:    true,
			shows: []string{"skipped:\n  example.com/m TestSkip: no server here\n  example.com/m TestSkipNow: no reason given\n",
				"\n1 passed, 0 failed, 2 skipped\n"},
		},
		"a skip in CI": {
			files:   map[string]string{"m_test.go": skipping},
			noSkips: true,
			shows:   []string{"TestSkip: no server here", "a skipped test fails the run", "\n1 passed, 0 failed, 2 skipped\n"},
		},
		"a failure": {
			files: map[string]string{"m_test.go": `package m
import "testing"
func TestPass(t *testing.T) { t.Log("not to be seen") }
func TestParent(t *testing.T) { t.Run("bad", func(t *testing.T) { t.Error("said by bad") }); t.Run("good", func(t *testing.T) {}) }
`},
			shows: []string{"said by bad", "--- FAIL: TestParent", "--- FAIL: TestParent/bad", "\nFAIL\texample.com/m\t",
				"\n2 passed, 2 failed, 0 skipped\n"},
			hides: []string{"not to be seen"},
		},
		"a panic": {
			files: map[string]string{"m_test.go": `package m
import "testing"
func TestPass(t *testing.T) {}
func TestPanic(t *testing.T) { panic("said by the panic") }
`},
			shows: []string{"said by the panic", "FAIL\texample.com/m", "\n1 passed, 1 failed, 0 skipped\n"},
		},
		"a process that exits in a test": {
			files: map[string]string{"m_test.go": `package m
import ("os"; "testing")
func TestExit(t *testing.T) { os.Exit(3) }
`},
			shows: []string{"FAIL\texample.com/m", "\n0 passed, 1 failed, 0 skipped\n"},
		},
		"a process that exits after its tests": {
			files: map[string]string{"m_test.go": `package m
import ("os"; "testing")
func TestPass(t *testing.T) {}
func TestMain(m *testing.M) { m.Run(); os.Exit(3) }
`},
			shows: []string{"FAIL\texample.com/m", "\n1 passed, 1 failed, 0 skipped\n"},
		},
		"a build that fails": {
			files: map[string]string{"m_test.go": passing, "bad/b_test.go": "package bad\n\nvar x int = \"text\"\n"},
			shows: []string{"bad/b_test.go:3:13: cannot use", "FAIL\texample.com/m/bad [build failed]", "\n4 passed, 1 failed, 0 skipped\n"},
		},
		"an import that does not exist": {
			files: map[string]string{"bad/b.go": "package bad\n\nimport _ \"example.com/m/none\"\n"},
			shows: []string{"b.go:3:8", "FAIL\texample.com/m/bad [setup failed]", "\n0 passed, 1 failed, 0 skipped\n"},
		},
		"no test at all": {
			files: map[string]string{"m.go": "package m\n"},
			shows: []string{"no test ran", "\n0 passed, 0 failed, 0 skipped\n"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, ok := goTest(t, c.noSkips, c.files)
			if ok != c.ok {
				t.Errorf("ok is %v", ok)
			}
			for _, text := range c.shows {
				if !strings.Contains(out, text) {
					t.Errorf("%q is missing", text)
				}
			}
			for _, text := range c.hides {
				if strings.Contains(out, text) {
					t.Errorf("%q is not wanted", text)
				}
			}
			if t.Failed() {
				t.Log("\n" + out)
			}
		})
	}
}

func TestStreamThatBreaksOff(t *testing.T) {
	for name, c := range map[string]struct{ stream, shows string }{
		"nothing": {"", "no test ran"},
		"in a test": {
			`{"Action":"start","Package":"p"}
{"Action":"run","Package":"p","Test":"TestX"}
{"Action":"output","Package":"p","Test":"TestX","Output":"said before\n"}
`, "said before\n--- FAIL: TestX (did not come to an end)\nFAIL\tp\t[the stream ended",
		},
		"after the tests": {
			`{"Action":"run","Package":"p","Test":"TestX"}
{"Action":"pass","Package":"p","Test":"TestX"}
`, "FAIL\tp\t[the stream ended",
		},
		"in a line": {`{"Action":"run","Pack`, `{"Action":"run","Pack`},
	} {
		t.Run(name, func(t *testing.T) {
			out, ok := summarize(t, false, c.stream)
			if ok || !strings.Contains(out, c.shows) {
				t.Errorf("ok %v, want false and %q:\n%s", ok, c.shows, out)
			}
		})
	}
}
