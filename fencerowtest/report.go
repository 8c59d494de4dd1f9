package fencerowtest

import (
	"fmt"
	"strings"
	"time"
)

// Case names a promise.
type Case struct {
	Name    string
	Promise string // in one sentence
}

// Outcome is what a case found.
type Outcome string

// The outcomes.
const (
	Kept       Outcome = "kept"
	Broken     Outcome = "broken"
	NotOffered Outcome = "not offered"
)

// Result is one case run against one subject.
type Result struct {
	Case
	Outcome Outcome
	Detail  string // what was seen, or what is missing
	Took    time.Duration
}

// Report is what all cases found about a subject.
type Report struct {
	Subject string
	Results []Result
}

// Violations returns the results of the promises that were broken.
func (r Report) Violations() []Result {
	var broken []Result
	for _, result := range r.Results {
		if result.Outcome == Broken {
			broken = append(broken, result)
		}
	}
	return broken
}

// String lists the results, one a line, and under those that are not kept what was seen or is missing.
func (r Report) String() string {
	width := 0
	for _, result := range r.Results {
		width = max(width, len(result.Name))
	}
	var b strings.Builder
	for _, result := range r.Results {
		fmt.Fprintf(&b, "%-11s  %-*s  %s\n", result.Outcome, width, result.Name, result.Promise)
		if result.Detail != "" {
			fmt.Fprintf(&b, "%13s%s\n", "", result.Detail)
		}
	}
	return b.String()
}
