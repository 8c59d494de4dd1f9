package sqlfence

import (
	"errors"
	"testing"

	"github.com/fencerow/fencerow"
	"github.com/fencerow/fencerow/fence"
	"github.com/fencerow/fencerow/fence/sqlfence"
	"github.com/fencerow/fencerow/fencerowtest"
)

// One poisoned number, such as a timestamp, would make every later grant stale for ever. MaxJump refuses it, and an operator can set
// right what was poisoned before, on record.
func TestPoisonedNumber(t *testing.T) {
	each(t, func(t *testing.T, d database) {
		b := newBank(t, d, &sqlfence.Options{MaxJump: 1000})
		const poison = 1_790_000_000_000
		claims := map[string]func(fencerow.Stamp) error{
			"gate": func(s fencerow.Stamp) error { return b.gate.Claim(t.Context(), s, account) },
			"row":  func(s fencerow.Stamp) error { return b.accounts.Claim(t.Context(), s, key, nil) },
		}
		for name, claim := range claims {
			if err := claim(grant(1 << 40).Stamp(1)); err != nil {
				t.Fatalf("%s: the first claim may have any number: %v", name, err)
			}
			err := claim(grant(poison).Stamp(1))
			wantVerdict(t, err, fencerow.Implausible, name+": a poisoned number")
			wantError(t, err, "1000 are allowed", name)
			if err := claim(grant(1<<40 + 1000).Stamp(1)); err != nil {
				t.Errorf("%s: the largest jump that is allowed: %v", name, err)
			}
			wantVerdict(t, claim(grant(1<<40+2001).Stamp(1)), fencerow.Implausible, name+": one more")
		}

		// Another program, without the bound, lets the number in.
		accounts, gate := openFences(t, d, b.db, nil)
		for _, err := range []error{gate.Claim(t.Context(), grant(poison).Stamp(1), account), accounts.Claim(t.Context(), grant(poison).Stamp(1), key, nil)} {
			if err != nil {
				t.Fatal(err)
			}
		}
		for name, claim := range claims {
			wantVerdict(t, claim(grant(1<<40+1001).Stamp(1)), fencerow.Stale, name+": a real number after a poisoned one")
		}
		o := fence.Override{Number: 1<<40 + 1000, By: "ann@example.com", Why: "a test rig sent timestamps, ticket 17"}
		if err := gate.Override(t.Context(), account, o); err != nil {
			t.Fatal(err)
		}
		if err := accounts.Override(t.Context(), key, o); err != nil {
			t.Fatal(err)
		}
		for name, claim := range claims {
			wantVerdict(t, claim(grant(1<<40+1000).Stamp(1)), fencerow.TokenReused, name+": the number that was set")
			if err := claim(grant(1<<40 + 1001).Stamp(1)); err != nil {
				t.Errorf("%s: a real number after the override: %v", name, err)
			}
		}
		trail, err := gate.Overrides(t.Context(), account)
		if err != nil || len(trail) != 2 {
			t.Fatalf("the trail is %+v, %v", trail, err)
		}
		if first := trail[0]; first.Place != "fencerow_gate" || first.OldNumber != poison || first.OldSource != "test:1" || first.Source != "test:1" ||
			first.Number != o.Number || first.By != o.By || first.Why != o.Why {
			t.Errorf("the record of the gate is %+v", first)
		}
		if second := trail[1]; second.Place != "accounts" || second.OldNumber != poison || second.Number != o.Number {
			t.Errorf("the record of the row is %+v", second)
		}
	})
}

func TestOverridesAreChecked(t *testing.T) {
	each(t, func(t *testing.T, d database) {
		b := newBank(t, d, nil)
		good := fence.Override{Number: 7, By: "ann", Why: "ticket 17"}
		bad := func(change func(*fence.Override)) fence.Override { o := good; change(&o); return o }
		wantError(t, b.gate.Override(t.Context(), account, bad(func(o *fence.Override) { o.By = " " })), "By", "nobody")
		wantError(t, b.gate.Override(t.Context(), account, bad(func(o *fence.Override) { o.Why = "" })), "Why", "no reason")
		wantError(t, b.gate.Override(t.Context(), account, bad(func(o *fence.Override) { o.Number = -1 })), "negative", "a negative number")
		wantError(t, b.gate.Override(t.Context(), "noslash", good), "slash", "no resource")
		wantError(t, b.gate.Override(t.Context(), account, good), "source", "a gate that follows nobody yet")
		wantError(t, b.accounts.Override(t.Context(), key, bad(func(o *fence.Override) { o.Source = "x" })), "no source", "a source for a row")
		if err := b.accounts.Override(t.Context(), sqlfence.Key{99}, good); !errors.Is(err, fencerow.ErrMissing) {
			t.Errorf("a row that is not there: %v", err)
		}
		if err := b.gate.Override(t.Context(), account, bad(func(o *fence.Override) { o.Source = "test:1" })); err != nil {
			t.Errorf("a gate that nobody has passed yet: %v", err)
		}
		wantVerdict(t, b.gate.Claim(t.Context(), grant(6).Stamp(1), account), fencerow.Stale, "a number below the override")
		foreign := fencerowtest.Token("test:2", account, 9)
		wantVerdict(t, b.gate.Claim(t.Context(), foreign.Stamp(1), account), fencerow.SourceMismatch, "another source")
		if err := b.gate.Override(t.Context(), account, bad(func(o *fence.Override) { o.Source = "test:2" })); err != nil {
			t.Error(err)
		}
		if err := b.gate.Claim(t.Context(), foreign.Stamp(1), account); err != nil {
			t.Errorf("after the override to its source: %v", err)
		}
		trail, err := b.gate.Overrides(t.Context(), account)
		if err != nil || len(trail) != 2 {
			t.Errorf("the refused ones have left a record: %+v, %v", trail, err)
		}
	})
}
