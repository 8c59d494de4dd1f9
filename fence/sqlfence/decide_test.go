package sqlfence

import (
	"database/sql"
	"testing"

	"github.com/fencerow/fencerow"
)

func testStamp(t testing.TB, number string, grant string, step int64) fencerow.Stamp {
	t.Helper()
	token, err := fencerow.ParseToken("v1:" + number + ":" + grant + ":s:account/42")
	if err != nil {
		t.Fatal(err)
	}
	return token.Stamp(step)
}

func storedMark(number, step int64, grant string) mark {
	return mark{sql.NullInt64{Int64: number, Valid: true}, sql.NullInt64{Int64: step, Valid: true}, sql.NullString{String: grant, Valid: true}}
}

// Every rule, against every relation of what is stored to what is presented: number 10, grant g, step 5.
func TestDecide(t *testing.T) {
	for _, c := range []struct {
		name                              string
		stored                            mark
		strict, notOlder, stamped, claimd fencerow.Verdict
		claim                             fencerow.Verdict
	}{
		{"newer number", storedMark(11, 0, "h"), fencerow.Stale, fencerow.Stale, fencerow.Stale, fencerow.Stale, fencerow.Stale},
		{"newer number, same grant", storedMark(11, 9, "g"), fencerow.Stale, fencerow.Stale, fencerow.Stale, fencerow.Stale, fencerow.Stale},
		{"older number", storedMark(9, 99, "f"), fencerow.Applied, fencerow.Applied, fencerow.Applied, fencerow.Unclaimed, fencerow.Applied},
		{"never written", storedMark(0, 0, ""), fencerow.Applied, fencerow.Applied, fencerow.Applied, fencerow.Unclaimed, fencerow.Applied},
		{"claimed", storedMark(10, 0, "g"), fencerow.Duplicate, fencerow.Applied, fencerow.Applied, fencerow.Applied, fencerow.Applied},
		{"earlier step", storedMark(10, 4, "g"), fencerow.Duplicate, fencerow.Applied, fencerow.Applied, fencerow.Applied, fencerow.Applied},
		{"same step", storedMark(10, 5, "g"), fencerow.Duplicate, fencerow.Applied, fencerow.Duplicate, fencerow.Duplicate, fencerow.Applied},
		{"later step", storedMark(10, 6, "g"), fencerow.Duplicate, fencerow.Applied, fencerow.OutOfOrder, fencerow.OutOfOrder, fencerow.Applied},
		{"other grant", storedMark(10, 0, "h"), fencerow.Duplicate, fencerow.Applied, fencerow.Applied, fencerow.TokenReused, fencerow.TokenReused},
		{"other grant, same step", storedMark(10, 5, "h"), fencerow.Duplicate, fencerow.Applied, fencerow.Duplicate, fencerow.TokenReused, fencerow.TokenReused},
		{"NULL number", mark{step: sql.NullInt64{Valid: true}, grant: sql.NullString{Valid: true}}, fencerow.Unfenced, fencerow.Unfenced, fencerow.Unfenced, fencerow.Unfenced, fencerow.Unfenced},
		{"NULL step", mark{number: sql.NullInt64{Valid: true}, grant: sql.NullString{Valid: true}}, fencerow.Unfenced, fencerow.Unfenced, fencerow.Unfenced, fencerow.Unfenced, fencerow.Unfenced},
		{"NULL grant", mark{number: sql.NullInt64{Valid: true}, step: sql.NullInt64{Valid: true}}, fencerow.Unfenced, fencerow.Unfenced, fencerow.Unfenced, fencerow.Unfenced, fencerow.Unfenced},
	} {
		t.Run(c.name, func(t *testing.T) {
			stamp := testStamp(t, "10", "g", 5)
			for rule, want := range map[mode]fencerow.Verdict{strictMode: c.strict, notOlderMode: c.notOlder, stampedMode: c.stamped, claimedMode: c.claimd} {
				if got := fencerow.VerdictOf(c.stored.decide(rule, stamp)); got != want {
					t.Errorf("rule %d: %s, want %s", rule, got, want)
				}
			}
			if got := fencerow.VerdictOf(c.stored.decideClaim(stamp)); got != c.claim {
				t.Errorf("claim: %s, want %s", got, c.claim)
			}
		})
	}
}

func TestWorstOfSeveralRows(t *testing.T) {
	stamp := testStamp(t, "10", "g", 5)
	fine, duplicate, stale, null := storedMark(9, 0, ""), storedMark(10, 5, "g"), storedMark(11, 0, "h"), mark{}
	for _, c := range []struct {
		name  string
		marks []mark
		want  fencerow.Verdict
	}{
		{"none", nil, fencerow.Applied},
		{"fine", []mark{fine, fine}, fencerow.Applied},
		{"one duplicate", []mark{fine, duplicate}, fencerow.Duplicate},
		{"stale last", []mark{duplicate, null, stale}, fencerow.Stale},
		{"stale first", []mark{stale, null, duplicate}, fencerow.Stale},
		{"NULL beside a duplicate", []mark{duplicate, null}, fencerow.Unfenced},
	} {
		if got := fencerow.VerdictOf(worst(c.marks, stampedMode, stamp)); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}
