package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/fencerow/fencerow/drill"
)

var update = flag.Bool("update", false, "write the golden files anew")

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s has changed; run the test with -update and look at the difference. Now it is\n%s", file, got)
	}
}

// The times of a run differ each time, and so does where it takes long.
var (
	eventTime = regexp.MustCompile(`(?m)^( ?\d+ +)\d+\.\d{3}`)
	wholeTime = regexp.MustCompile(`\d+\.\d s in all`)
	pauseLine = regexp.MustCompile(`(?m)^ +:.*\n`)
)

func TestDrillInText(t *testing.T) {
	page, picture := filepath.Join(t.TempDir(), "drill.html"), filepath.Join(t.TempDir(), "drill.svg")
	code, out, errs := command(t, "drill", "--ttl", "500ms", "--verbose", "--report", page, "--svg", picture)
	if code != exitFine || errs != "" {
		t.Fatalf("exit %d, error %q\n%s", code, errs, out)
	}
	out = strings.ReplaceAll(out, page, "drill.html")
	out = eventTime.ReplaceAllString(out, "${1}0.000")
	out = wholeTime.ReplaceAllString(out, "0.0 s in all")
	golden(t, "drill.txt", pauseLine.ReplaceAllString(out, ""))
	for _, file := range []string{page, picture} {
		if text, err := os.ReadFile(file); err != nil || !strings.Contains(string(text), "<svg") {
			t.Errorf("%s: %v", file, err)
		}
	}
}

func TestDrillInJSON(t *testing.T) {
	code, out, errs := command(t, "drill", "--ttl", "500ms", "-o", "json", "--keep")
	var report drill.Report
	if err := json.Unmarshal([]byte(out), &report); code != exitFine || errs != "" || err != nil {
		t.Fatalf("exit %d, error %q, %v", code, errs, err)
	}
	defer os.RemoveAll(report.Dir)
	if !report.Passed || report.Version != 1 || report.TTLMS != 500 || len(report.Runs) != 9 {
		t.Errorf("passed %v, version %d, TTL %d, %d runs", report.Passed, report.Version, report.TTLMS, len(report.Runs))
	}
	if info, err := os.Stat(report.Dir); err != nil || !info.IsDir() {
		t.Errorf("the folder that --keep keeps: %v", err)
	}
	var any map[string]any
	if err := json.Unmarshal([]byte(out), &any); err != nil {
		t.Fatal(err)
	}
	fields := slices.Compact(slices.Sorted(slices.Values(shape("", any))))
	golden(t, "drill-fields.txt", strings.Join(fields, "\n")+"\n")
	described, err := os.ReadFile("../../../../docs/cli-json.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, field := range fields {
		name := field[strings.LastIndexByte(field, '.')+1 : strings.IndexByte(field, ' ')]
		if !strings.Contains(string(described), "`"+strings.TrimSuffix(name, "[]")+"`") {
			t.Errorf("docs/cli-json.md does not describe %s", name)
		}
	}
}

// shape lists the fields of a JSON value and their types.
func shape(path string, v any) []string {
	switch v := v.(type) {
	case map[string]any:
		var all []string
		for name, value := range v {
			all = append(all, shape(path+"."+name, value)...)
		}
		return all
	case []any:
		var all []string
		for _, value := range v {
			all = append(all, shape(path+"[]", value)...)
		}
		return all
	}
	return []string{fmt.Sprintf("%s %T", path, v)}
}

func TestDrillKeepsAFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "folder")
	code, out, errs := command(t, "drill", "--ttl", "500ms", "--dir", dir)
	if code != exitFine || !strings.Contains(out, "kept in "+dir+"\n") {
		t.Fatalf("exit %d, error %q\n%s", code, errs, out)
	}
	for _, name := range []string{"drill.db", "worker-A.log", "worker-B.log"} {
		if _, err := os.Stat(filepath.Join(dir, "b-writes-first-fence", name)); err != nil {
			t.Error(err)
		}
	}
}

// Whoever takes the fence out finds out by the exit code.
func TestDrillOfABrokenFence(t *testing.T) {
	t.Setenv(withoutFence, "1")
	code, out, errs := command(t, "drill", "--ttl", "500ms")
	if code != exitFinding || errs != "" || !strings.HasPrefix(out, "x FAIL: The fence held in 0 of 3 runs, NOT in: ") {
		t.Errorf("exit %d, error %q\n%s", code, errs, out)
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

func TestTerminalsThatShowASCIIOnly(t *testing.T) {
	for name, c := range map[string]struct {
		env  map[string]string
		want bool
	}{
		"nothing said":     {nil, false},
		"UTF-8":            {map[string]string{"LANG": "de_DE.UTF-8"}, false},
		"utf8":             {map[string]string{"LANG": "C.utf8"}, false},
		"Latin":            {map[string]string{"LANG": "de_DE.ISO-8859-1"}, true},
		"C":                {map[string]string{"LC_ALL": "C", "LANG": "en_US.UTF-8"}, true},
		"LC_CTYPE decides": {map[string]string{"LC_CTYPE": "C.UTF-8", "LANG": "C"}, false},
		"dumb":             {map[string]string{"TERM": "dumb", "LANG": "C.UTF-8"}, true},
	} {
		if got := asciiOnly(func(key string) string { return c.env[key] }); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
