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

// String lists the results, one a line, with the broken ones explained.
func (r Report) String() string {
	var b strings.Builder
	for _, result := range r.Results {
		fmt.Fprintf(&b, "%-11s  %-32s  %s\n", result.Outcome, result.Name, result.Promise)
		if result.Detail != "" {
			fmt.Fprintf(&b, "%13s%s\n", "", result.Detail)
		}
	}
	return b.String()
}
