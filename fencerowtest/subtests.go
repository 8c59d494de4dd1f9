package fencerowtest

import "testing"

// show runs the checks as subtests, those that may run side by side in parallel. They are in a group, which ends after the last
// of them: so what the caller defers comes after all cases.
func show(t *testing.T, checks []check) {
	t.Helper()
	t.Run("cases", func(t *testing.T) {
		for _, c := range checks {
			if c.alone {
				t.Run(c.Name, func(t *testing.T) { showOne(t, c) })
			}
		}
		for _, c := range checks {
			if !c.alone {
				t.Run(c.Name, func(t *testing.T) { t.Parallel(); showOne(t, c) })
			}
		}
	})
}

// showOne never skips: a skipped test would hide that a promise is not offered.
func showOne(t *testing.T, c check) {
	t.Helper()
	switch result := c.run(t.Context()); result.Outcome {
	case Broken:
		t.Errorf("broken: %s\nseen: %s", c.Promise, result.Detail)
	case NotOffered:
		t.Logf("not offered: %s (%s)", c.Promise, result.Detail)
	}
}
