package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
)

// event is a line of "go test -json"; see "go doc test2json" and "go help buildjson".
type event struct {
	Action      string
	Package     string
	Test        string
	Output      string
	ImportPath  string // of build-output and build-fail
	FailedBuild string // of the fail of a package
}

type summary struct {
	out      io.Writer
	noSkips  bool
	packages map[string]*pkg
	builds   map[string]string // output of the compiler by import path
	passed   int
	failed   int
	skips    []skip
}

type pkg struct {
	output string // not of a test
	tests  map[string]*test
	order  []string
}

type test struct {
	output string
	action string // pass, fail, skip; "" while it runs
}

type skip struct{ pkg, test, reason string }

func newSummary(out io.Writer, noSkips bool) *summary {
	return &summary{out: out, noSkips: noSkips, packages: map[string]*pkg{}, builds: map[string]string{}}
}

// read takes the whole stream. Lines that are not events are printed as they are.
func (s *summary) read(in io.Reader) error {
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadString('\n')
		if line != "" {
			var e event
			if json.Unmarshal([]byte(line), &e) != nil || e.Action == "" {
				fmt.Fprint(s.out, line)
			} else {
				s.take(e)
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

func (s *summary) take(e event) {
	if strings.HasPrefix(e.Action, "build-") {
		s.builds[e.ImportPath] += e.Output
		return
	}
	p := s.packages[e.Package]
	if p == nil {
		p = &pkg{tests: map[string]*test{}}
		s.packages[e.Package] = p
	}
	if e.Test == "" {
		s.takePackage(e, p)
		return
	}
	t := p.tests[e.Test]
	if t == nil {
		t = &test{}
		p.tests[e.Test] = t
		p.order = append(p.order, e.Test)
	}
	switch e.Action {
	case "output":
		t.output += e.Output
	case "pass":
		t.action = e.Action
		s.passed++
	case "fail":
		t.action = e.Action
		s.failed++
	case "skip":
		t.action = e.Action
		s.skips = append(s.skips, skip{e.Package, e.Test, reason(t.output)})
	}
}

// takePackage prints a package when it is complete: packages that run at the same time do not mix.
func (s *summary) takePackage(e event, p *pkg) {
	switch e.Action {
	case "output":
		p.output += e.Output
		return
	case "pass", "skip": // "skip" is a package without tests
		for line := range strings.Lines(p.output) {
			if strings.HasPrefix(line, "ok ") || strings.HasPrefix(line, "?") {
				fmt.Fprint(s.out, line)
			}
		}
	case "fail":
		fmt.Fprint(s.out, s.builds[e.FailedBuild])
		s.failPackage(p)
		fmt.Fprint(s.out, p.output)
	default:
		return
	}
	delete(s.packages, e.Package)
}

// failPackage prints the tests that failed or did not come to an end.
func (s *summary) failPackage(p *pkg) {
	named := false
	slices.Sort(p.order) // a parent before its subtests
	for _, name := range p.order {
		t := p.tests[name]
		if t.action == "pass" || t.action == "skip" {
			continue
		}
		if t.action == "" {
			s.failed++
		}
		named = true
		fmt.Fprint(s.out, t.output)
		if t.action == "" {
			fmt.Fprintf(s.out, "--- FAIL: %s (did not come to an end)\n", name)
		}
	}
	if !named {
		s.failed++
	}
}

// finish prints the end and reports whether all is well.
func (s *summary) finish() bool {
	unfinished := make([]string, 0, len(s.packages))
	for name := range s.packages {
		unfinished = append(unfinished, name)
	}
	slices.Sort(unfinished)
	for _, name := range unfinished {
		s.failPackage(s.packages[name])
		fmt.Fprintf(s.out, "%sFAIL\t%s\t[the stream ended before the package did]\n", s.packages[name].output, name)
	}
	ok := s.failed == 0
	if s.passed+s.failed+len(s.skips) == 0 {
		ok = false
		fmt.Fprintln(s.out, "\nno test ran")
	}
	if len(s.skips) > 0 {
		fmt.Fprintln(s.out, "\nskipped:")
		for _, k := range s.skips {
			fmt.Fprintf(s.out, "  %s %s: %s\n", k.pkg, k.test, k.reason)
		}
		if s.noSkips {
			ok = false
			fmt.Fprintln(s.out, "CI is set: a skipped test fails the run")
		}
	}
	fmt.Fprintf(s.out, "\n%d passed, %d failed, %d skipped\n", s.passed, s.failed, len(s.skips))
	return ok
}

var (
	frame  = regexp.MustCompile(`^\s*(=== |--- SKIP)`)
	caller = regexp.MustCompile(`^\s*\S+\.go:\d+: `)
)

// reason finds what the test said when it was skipped.
func reason(output string) string {
	var said []string
	for line := range strings.Lines(output) {
		if line = strings.TrimSpace(line); line != "" && !frame.MatchString(line) {
			said = append(said, caller.ReplaceAllString(line, ""))
		}
	}
	if len(said) == 0 {
		return "no reason given"
	}
	return strings.Join(said, " ")
}
