package fencerowtest_test

import (
	"context"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/fencerow/fencerow/driver"
	"github.com/fencerow/fencerow/fencerowtest"
)

func TestCasesAreNamedAndPromiseOneThing(t *testing.T) {
	t.Parallel()
	name := regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)+$`)
	sentence := regexp.MustCompile(`^[A-Z][^.\n]*\.$`)
	for kind, cases := range map[string][]fencerowtest.Case{"lock": fencerowtest.LockCases(), "fence": fencerowtest.FenceCases()} {
		seen := map[string]bool{}
		for _, c := range cases {
			if !name.MatchString(c.Name) || seen[c.Name] {
				t.Errorf("%s case %q: the name is not in kebab-case, or twice there", kind, c.Name)
			}
			if promise := strings.ReplaceAll(c.Promise, "2^53", ""); !sentence.MatchString(promise) {
				t.Errorf("%s case %s: %q is not one sentence", kind, c.Name, c.Promise)
			}
			seen[c.Name] = true
		}
	}
}

func TestReportHasEachCaseInOrder(t *testing.T) {
	t.Parallel()
	report := fencerowtest.CheckFence(t.Context(), fakeFenceHarness(strict, ""))
	cases := fencerowtest.FenceCases()
	if len(report.Results) != len(cases) {
		t.Fatalf("%d results for %d cases", len(report.Results), len(cases))
	}
	missing := 0
	for i, result := range report.Results {
		if result.Case != cases[i] {
			t.Errorf("result %d is of %s, the case is %s", i, result.Name, cases[i].Name)
		}
		if result.Outcome == fencerowtest.NotOffered {
			missing++
			if result.Detail == "" {
				t.Errorf("%s is not offered, and nothing says what is missing", result.Name)
			}
		}
		if !strings.Contains(report.String(), result.Promise) {
			t.Errorf("the report does not show the promise of %s", result.Name)
		}
	}
	if missing == 0 {
		t.Error("a fence without steps and claims offers everything")
	}
}

func TestUnknownCaseIsNotPassedOver(t *testing.T) {
	t.Parallel()
	report := fencerowtest.CheckFence(t.Context(), fakeFenceHarness(claimed, ""), "claim-is-strict", "claim-is-lax")
	if found := report.Violations(); len(found) != 1 || found[0].Name != "claim-is-lax" || len(report.Results) != 2 {
		t.Errorf("a case that does not exist is reported as\n%s", report)
	}
}

func TestIncompleteHarnessIsNotPassedOver(t *testing.T) {
	t.Parallel()
	locks := fencerowtest.CheckLocks(t.Context(), fencerowtest.LockHarness{})
	fences := fencerowtest.CheckFence(t.Context(), fencerowtest.FenceHarness{})
	if len(locks.Violations()) != len(fencerowtest.LockCases()) || len(fences.Violations()) != len(fencerowtest.FenceCases()) {
		t.Errorf("without a subject:\n%s\n%s", locks, fences)
	}
}

func TestRunThatIsStoppedKeepsNoPromise(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	h := fakeLocksHarness(t, "")
	open := h.Open
	h.Open = func(ctx context.Context) (driver.LockService, error) {
		cancel() // as if somebody had pressed Ctrl-C
		return open(ctx)
	}
	for _, result := range fencerowtest.CheckLocks(ctx, h).Results {
		if result.Outcome == fencerowtest.Kept {
			t.Errorf("%s is kept although the run was stopped", result.Name)
		}
	}
}

func TestSubjectThatHangsIsReported(t *testing.T) {
	t.Parallel()
	h := fakeLocksHarness(t, closeHangs)
	h.Patience = 20 * time.Millisecond
	report := fencerowtest.CheckLocks(t.Context(), h, "closing-ends-no-lease")
	if found := report.Violations(); len(found) != 1 || !strings.Contains(found[0].Detail, "does not return") {
		t.Errorf("a service whose Close does not return:\n%s", report)
	}
}

func TestViolationNamesTheSeed(t *testing.T) {
	t.Parallel()
	h := fakeFenceHarness(stepped, ownWriteIsStale)
	h.Seed = 7
	report := fencerowtest.CheckFence(t.Context(), h, "newest-writer-stays")
	if found := report.Violations(); len(found) != 1 || !strings.HasSuffix(found[0].Detail, "(seed 7)") {
		t.Errorf("with the seed 7:\n%s", report)
	}
}
