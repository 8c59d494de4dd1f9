package sqlfence

import (
	"database/sql"
	"testing"

	"github.com/fencerow/fencerow"
	"github.com/fencerow/fencerow/fence"
)

func testStamp(t testing.TB, number string, grant string, step int64) fencerow.Stamp {
	t.Helper()
	token, err := fencerow.ParseToken("v1:" + number + ":" + grant + ":s:account/42")
	if err != nil {
		t.Fatal(err)
	}
	return token.Stamp(step)
}

func stored(number, step int64, grant string) storedMark {
	return storedMark{
		number: sql.NullInt64{Int64: number, Valid: true}, step: sql.NullInt64{Int64: step, Valid: true}, grant: sql.NullString{String: grant, Valid: true},
	}
}

// Every rule, against every relation of what is stored to what is presented: number 10, grant g, step 5.
func TestDecide(t *testing.T) {
	for _, c := range []struct {
		name                              string
		stored                            storedMark
		strict, notOlder, stamped, claimd fencerow.Verdict
		claim                             fencerow.Verdict
	}{
		{"newer number", stored(11, 0, "h"), fencerow.Stale, fencerow.Stale, fencerow.Stale, fencerow.Stale, fencerow.Stale},
		{"newer number, same grant", stored(11, 9, "g"), fencerow.Stale, fencerow.Stale, fencerow.Stale, fencerow.Stale, fencerow.Stale},
		{"older number", stored(9, 99, "f"), fencerow.Applied, fencerow.Applied, fencerow.Applied, fencerow.Unclaimed, fencerow.Applied},
		{"never written", stored(0, 0, ""), fencerow.Applied, fencerow.Applied, fencerow.Applied, fencerow.Unclaimed, fencerow.Applied},
		{"claimed", stored(10, 0, "g"), fencerow.Duplicate, fencerow.Applied, fencerow.Applied, fencerow.Applied, fencerow.Applied},
		{"earlier step", stored(10, 4, "g"), fencerow.Duplicate, fencerow.Applied, fencerow.Applied, fencerow.Applied, fencerow.Applied},
		{"same step", stored(10, 5, "g"), fencerow.Duplicate, fencerow.Applied, fencerow.Duplicate, fencerow.Duplicate, fencerow.Applied},
		{"later step", stored(10, 6, "g"), fencerow.Duplicate, fencerow.Applied, fencerow.OutOfOrder, fencerow.OutOfOrder, fencerow.Applied},
		{"other grant", stored(10, 0, "h"), fencerow.Duplicate, fencerow.Applied, fencerow.Applied, fencerow.TokenReused, fencerow.TokenReused},
		{"other grant, same step", stored(10, 5, "h"), fencerow.Duplicate, fencerow.Applied, fencerow.Duplicate, fencerow.TokenReused, fencerow.TokenReused},
		{"NULL number", storedMark{step: sql.NullInt64{Valid: true}, grant: sql.NullString{Valid: true}}, fencerow.Unfenced, fencerow.Unfenced, fencerow.Unfenced, fencerow.Unfenced, fencerow.Unfenced},
		{"NULL step", storedMark{number: sql.NullInt64{Valid: true}, grant: sql.NullString{Valid: true}}, fencerow.Unfenced, fencerow.Unfenced, fencerow.Unfenced, fencerow.Unfenced, fencerow.Unfenced},
		{"NULL grant", storedMark{number: sql.NullInt64{Valid: true}, step: sql.NullInt64{Valid: true}}, fencerow.Unfenced, fencerow.Unfenced, fencerow.Unfenced, fencerow.Unfenced, fencerow.Unfenced},
	} {
		t.Run(c.name, func(t *testing.T) {
			stamp := testStamp(t, "10", "g", 5)
			for rule, want := range map[fence.Rule]fencerow.Verdict{fence.Strict: c.strict, fence.NotOlder: c.notOlder, fence.Stepped: c.stamped, fence.Claimed: c.claimd} {
				if got := fencerow.VerdictOf(c.stored.refuses(rule, stamp)); got != want {
					t.Errorf("rule %d: %s, want %s", rule, got, want)
				}
			}
			if got := fencerow.VerdictOf(c.stored.refusesClaim(stamp, 0)); got != c.claim {
				t.Errorf("claim: %s, want %s", got, c.claim)
			}
		})
	}
}

func TestWorstOfSeveralRows(t *testing.T) {
	stamp := testStamp(t, "10", "g", 5)
	fine, duplicate, stale, null := stored(9, 0, ""), stored(10, 5, "g"), stored(11, 0, "h"), storedMark{}
	for _, c := range []struct {
		name  string
		marks []storedMark
		want  fencerow.Verdict
	}{
		{"none", nil, fencerow.Applied},
		{"fine", []storedMark{fine, fine}, fencerow.Applied},
		{"one duplicate", []storedMark{fine, duplicate}, fencerow.Duplicate},
		{"stale last", []storedMark{duplicate, null, stale}, fencerow.Stale},
		{"stale first", []storedMark{stale, null, duplicate}, fencerow.Stale},
		{"NULL beside a duplicate", []storedMark{duplicate, null}, fencerow.Unfenced},
	} {
		if got := fencerow.VerdictOf(worst(c.marks, fence.Stepped, stamp)); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}
