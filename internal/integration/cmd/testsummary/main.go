// Command testsummary reads "go test -json" from standard input and prints what a person wants of it: the line of each package,
// the whole output of what failed, the skipped tests with their reasons, and as the last line
//
//	N passed, N failed, N skipped
//
// Every test counts, subtests and their parents alike. A package that fails without a failed test (it does not build, or its
// process died) counts as one failure, so that the line never hides one.
//
// The exit code is 1 if anything failed, if no test ran, or if a test was skipped while CI is set.
package main

import (
	"fmt"
	"os"
	"os/signal"
)

func main() {
	// A Ctrl-C is for the tests: what they say at their end is still to be told.
	signal.Ignore(os.Interrupt)
	s := newSummary(os.Stdout, os.Getenv("CI") != "")
	if err := s.read(os.Stdin); err != nil {
		fmt.Fprintln(os.Stderr, "testsummary:", err)
		os.Exit(1)
	}
	if !s.finish() {
		os.Exit(1)
	}
}
