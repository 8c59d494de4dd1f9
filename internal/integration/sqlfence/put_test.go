package sqlfence

import (
	"fmt"
	"testing"

	"github.com/fencerow/fencerow"
	"github.com/fencerow/fencerow/fence/sqlfence"
)

// tombstones opens the accounts so that they can be inserted and deleted.
func tombstones(t *testing.T, b *bank, grant bool) *sqlfence.Table {
	t.Helper()
	schema := accountSchema
	schema.Tombstones = true
	if !grant {
		schema.Grant = ""
	}
	accounts, err := sqlfence.OpenTable(t.Context(), b.db, b.dialect, schema, nil)
	if err != nil {
		t.Fatal(err)
	}
	return accounts
}

// The hole of a mark that goes with its row, and its cure: without a tombstone a superseded holder inserts again what was deleted.
func TestDeleteThenStaleInsert(t *testing.T) {
	each(t, func(t *testing.T, d database) {
		older, newer := grant(34), grant(120)
		insert := d.rebind("INSERT INTO accounts (id, balance, fence_token) VALUES (42, 666, $1)")
		t.Run("trap", func(t *testing.T) {
			b := newBank(t, d, nil)
			exec(t, b.db, "UPDATE accounts SET fence_token = 120")
			exec(t, b.db, "DELETE FROM accounts WHERE id = 42 AND fence_token <= 120") // by the newer holder
			if _, err := b.db.Exec(insert, 34); err != nil {                           // by the older one
				t.Fatalf("the trap is gone: %v", err)
			}
		})
		for _, withGrant := range []bool{true, false} {
			t.Run(fmt.Sprintf("cure, with a grant column %v", withGrant), func(t *testing.T) {
				b := newBank(t, d, nil)
				accounts := tombstones(t, b, withGrant)
				if withGrant {
					for _, g := range []fencerow.Token{older, newer} {
						if err := accounts.Claim(t.Context(), g.Stamp(1), key, nil); err != nil {
							t.Fatal(err)
						}
					}
				}
				if err := accounts.Delete(t.Context(), newer.Stamp(1), key); err != nil {
					t.Fatal(err)
				}
				wantVerdict(t, accounts.Put(t.Context(), older.Stamp(2), key, sqlfence.Values{"balance": 666}), fencerow.Stale, "a put of the older holder")
				wantVerdict(t, accounts.Update(t.Context(), older.Stamp(3), key, sqlfence.Set("balance = 666")), fencerow.Stale, "an update of the older holder")
				wantVerdict(t, accounts.Delete(t.Context(), older.Stamp(4), key), fencerow.Stale, "a delete of the older holder")
				wantVerdict(t, accounts.Update(t.Context(), newer.Stamp(2), key, sqlfence.Set("balance = 1")), fencerow.Missing, "an update of the newer holder")
				wantVerdict(t, b.gate.Claim(t.Context(), older.Stamp(5), account), fencerow.Stale, "a claim at the gate of the same resource")
				if err := accounts.Put(t.Context(), newer.Stamp(3), key, sqlfence.Values{"balance": 7}); err != nil || b.balance(t) != 7 {
					t.Errorf("a put of the newer holder: %v, balance %d", err, b.balance(t))
				}
				if err := accounts.Put(t.Context(), newer.Stamp(4), key, sqlfence.Values{"balance": 8}); err != nil || b.balance(t) != 8 {
					t.Errorf("a put over its own row: %v, balance %d", err, b.balance(t))
				}
				wantVerdict(t, accounts.Put(t.Context(), newer.Stamp(4), key, sqlfence.Values{"balance": 9}), fencerow.Duplicate, "the same put")
				wantVerdict(t, accounts.Put(t.Context(), newer.Stamp(3), key, sqlfence.Values{"balance": 9}), fencerow.OutOfOrder, "an earlier put")
			})
		}
	})
}

func TestDeleteAnswers(t *testing.T) {
	each(t, func(t *testing.T, d database) {
		b := newBank(t, d, nil)
		accounts := tombstones(t, b, true)
		g := grant(5)
		wantVerdict(t, accounts.Delete(t.Context(), g.Stamp(1), key), fencerow.Unclaimed, "before the claim")
		if err := accounts.Claim(t.Context(), g.Stamp(1), key, nil); err != nil {
			t.Fatal(err)
		}
		wantVerdict(t, accounts.Delete(t.Context(), g.Stamp(1), key, sqlfence.Where("balance = 0")), fencerow.Rejected, "its own condition does not hold")
		wantVerdict(t, accounts.Delete(t.Context(), g.Stamp(1), sqlfence.Key{43}), fencerow.SourceMismatch, "another row")
		if err := accounts.Delete(t.Context(), g.Stamp(1), key, sqlfence.Where("balance = ?", 1000)); err != nil {
			t.Fatal(err)
		}
		wantVerdict(t, accounts.Delete(t.Context(), g.Stamp(1), key), fencerow.Duplicate, "the same delete")
		wantVerdict(t, accounts.Delete(t.Context(), g.Stamp(2), key), fencerow.Missing, "another delete")
		wantVerdict(t, accounts.Delete(t.Context(), fencerow.Stamp{}, key), fencerow.Unfenced, "no stamp")
		wantError(t, accounts.Delete(t.Context(), g.Stamp(3), key, sqlfence.Set("balance = 0")), "no Set", "a Set")
		wantError(t, b.accounts.Delete(t.Context(), g.Stamp(3), key), "Tombstones", "a table without tombstones")
		wantError(t, b.accounts.Put(t.Context(), g.Stamp(3), key, sqlfence.Values{"balance": 0}), "Tombstones", "a put without tombstones")
		wantError(t, accounts.Put(t.Context(), g.Stamp(3), key, nil), "without values", "no values")
		for _, own := range []string{"id", "fence_token", "fence_step", "fence_grant"} {
			wantError(t, accounts.Put(t.Context(), g.Stamp(3), key, sqlfence.Values{own: 0}), "not for Values", own)
		}
	})
}

// A unique key of the application's own that is taken is not a conflict that goes away.
func TestPutThatBreaksAnotherKey(t *testing.T) {
	each(t, func(t *testing.T, d database) {
		b := newBank(t, d, nil)
		exec(t, b.db, "CREATE UNIQUE INDEX one_balance ON accounts (balance)")
		accounts := tombstones(t, b, false)
		token := grant(5)
		if err := accounts.Delete(t.Context(), token.Stamp(1), key); err != nil {
			t.Fatal(err)
		}
		exec(t, b.db, "INSERT INTO accounts (id, balance) VALUES (43, 7)")
		err := accounts.Put(t.Context(), token.Stamp(2), key, sqlfence.Values{"balance": 7})
		wantVerdict(t, err, fencerow.Failed, "a put whose balance is taken")
		if err := accounts.Put(t.Context(), token.Stamp(2), key, sqlfence.Values{"balance": 8}); err != nil || b.balance(t) != 8 {
			t.Errorf("the same stamp with another balance: %v", err)
		}
	})
}
