package drill

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write the golden files anew")

// sampleReport is one run with the fence and one without.
func sampleReport() Report {
	damaged := safeRun()
	damaged.Guard, damaged.Row, damaged.Log = NoFence, Row{Balance: 800, Debits: 2}, []string{`{"msg":"write <b>"}`}
	for i := range damaged.Events {
		if damaged.Events[i].Kind == Claimed {
			damaged.Events[i].Kind, damaged.Events[i].Detail = Read, "reads 1000"
		}
		if damaged.Events[i].Kind == Wrote {
			damaged.Events[i].Verdict = "applied"
		}
	}
	judge(&damaged)
	r := Report{Version: 1, TTLMS: 1000, TookMS: 1234, Runs: []Run{safeRun(), damaged}}
	for _, order := range []Order{WritesFirst, CrashesAfterClaim} {
		for _, run := range []Run{safeRun(), damaged} {
			run.Order, run.Title = order, order.Title()
			r.Runs = append(r.Runs, run)
		}
	}
	conclude(&r)
	return r
}

func TestReportGolden(t *testing.T) {
	r := sampleReport()
	for name, write := range map[string]func(io.Writer) error{
		"report.txt":       func(w io.Writer) error { return r.WriteText(w, Style{}) },
		"report-ascii.txt": func(w io.Writer) error { return r.WriteText(w, Style{ASCII: true}) },
		"report-wide.txt":  func(w io.Writer) error { return r.WriteText(w, Style{Width: 120, Verbose: true}) },
		"report-color.txt": func(w io.Writer) error { return r.WriteText(w, Style{Color: true}) },
		"report.json": func(w io.Writer) error {
			encoder := json.NewEncoder(w)
			encoder.SetIndent("", "  ")
			return encoder.Encode(r)
		},
		"report.html": r.WriteHTML,
		"picture.svg": r.WriteSVG,
	} {
		t.Run(name, func(t *testing.T) {
			var got bytes.Buffer
			if err := write(&got); err != nil {
				t.Fatal(err)
			}
			file := filepath.Join("testdata", name)
			if *update {
				if err := os.WriteFile(file, got.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got.Bytes(), want) {
				t.Errorf("%s has changed; run the test with -update and look at the difference. The first is\n%s", file, difference(got.String(), string(want)))
			}
		})
	}
}

// difference returns the first lines that differ.
func difference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			return fmt.Sprintf("line %d is %q\nwant       %q", i+1, g[i], w[i])
		}
	}
	return fmt.Sprintf("%d lines, want %d", len(g), len(w))
}

func TestPageNeedsNothingElse(t *testing.T) {
	r := sampleReport()
	var page bytes.Buffer
	if err := r.WriteHTML(&page); err != nil {
		t.Fatal(err)
	}
	for _, pattern := range []string{`(?i)<script`, `(?i)src\s*=`, `(?i)<link`, `url\(`, `@import`, `https?://`, `(?i)\son\w+\s*=`} {
		if found := regexp.MustCompile(pattern).FindString(page.String()); found != "" {
			t.Errorf("the page contains %q", found)
		}
	}
	if strings.Contains(page.String(), "write <b>") || !strings.Contains(page.String(), "write &lt;b&gt;") {
		t.Error("what a worker logged is not escaped")
	}
}

func TestPictureIsWellFormed(t *testing.T) {
	r := sampleReport()
	var picture bytes.Buffer
	if err := r.WriteSVG(&picture); err != nil {
		t.Fatal(err)
	}
	decoder := xml.NewDecoder(&picture)
	for {
		_, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestPictureNeedsAFencedRun(t *testing.T) {
	r := Report{}
	if err := r.WriteSVG(io.Discard); err == nil {
		t.Fatal("a picture of nothing")
	}
}

// A folder's name is printed as it is, also where the signs are not.
func TestASCII(t *testing.T) {
	r := sampleReport()
	r.Dir = "/tmp/✔"
	var out bytes.Buffer
	if err := r.WriteText(&out, Style{ASCII: true, Verbose: true, Repeat: true}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), r.Dir) {
		t.Error("the folder is not named")
	}
	for _, c := range strings.Replace(out.String(), r.Dir, "", 1) {
		if c > '~' {
			t.Errorf("%q is not ASCII", c)
		}
	}
}

func TestVerdictComesFirstAndLast(t *testing.T) {
	r := sampleReport()
	var out bytes.Buffer
	if err := r.WriteText(&out, Style{Repeat: true}); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimRight(out.String(), "\n"), "\n")
	if lines[0] != r.headline() || lines[len(lines)-1] != r.headline() {
		t.Errorf("first %q, last %q, want %q", lines[0], lines[len(lines)-1], r.headline())
	}
}

// A stale write that was accepted must not look like a success.
func TestAcceptedStaleWriteIsShownAsDamage(t *testing.T) {
	r := sampleReport()
	for _, s := range r.Runs[1].steps() {
		if s.Kind == Wrote && s.Worker == "A" && (s.tone != bad || !strings.Contains(s.label, "ACCEPTED")) {
			t.Errorf("A's stale write is shown as %q", s.label)
		}
	}
}

func TestConfigIsChecked(t *testing.T) {
	for name, cfg := range map[string]Config{
		"too short": {TTL: MinTTL - 1},
		"too long":  {TTL: MaxTTL + 1},
		"negative":  {TTL: -1},
		"not whole": {TTL: DefaultTTL + 1},
		"empty":     {},
	} {
		if _, err := cfg.Run(t.Context()); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// The limit that is promised for the default, and one that leaves room for long leases.
func TestLimitOfADrill(t *testing.T) {
	for ttl, want := range map[time.Duration]time.Duration{DefaultTTL: 20 * time.Second, MaxTTL: 136 * time.Second} {
		if got := (Config{TTL: ttl, Guards: Guards}).limit(); got != want {
			t.Errorf("leases of %v: %v, want %v", ttl, got, want)
		}
	}
}

func TestMessageKeepsTheMicroseconds(t *testing.T) {
	text, err := json.Marshal(message{AtUS: 1_234_567, Event: Event{Worker: "B", Kind: Wrote}})
	var back message
	if err := errors.Join(err, json.Unmarshal(text, &back)); err != nil {
		t.Fatal(err)
	}
	want := Event{At: 1_234_567 * time.Microsecond, AtMS: 1234, Worker: "B", Kind: Wrote}
	if got := back.event(); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestWorkNeedsInstructions(t *testing.T) {
	for _, input := range []string{"", "hello\n"} {
		if err := Work(t.Context(), nil, strings.NewReader(input), io.Discard, io.Discard); err == nil || !strings.Contains(err.Error(), "instructions") {
			t.Errorf("%q: %v", input, err)
		}
	}
}
