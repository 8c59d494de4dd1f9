package dynamofence

import (
	"regexp"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/fencerow/fencerow"
	"github.com/fencerow/fencerow/fence"
	"github.com/fencerow/fencerow/fencerowtest"
)

func TestAssignGoesIntoTheCallersClause(t *testing.T) {
	for update, want := range map[string]string{
		"":                             "SET f = :f",
		"SET a = :a":                   "SET f = :f, a = :a",
		"set a = :a":                   "set f = :f, a = :a",
		"REMOVE a":                     "SET f = :f REMOVE a",
		"ADD a :a SET b = :b":          "ADD a :a SET f = :f, b = :b",
		"ADD a :a\nSET\n  b = :b":      "ADD a :a\nSET f = :f,\n  b = :b",
		"DELETE tags :set":             "SET f = :f DELETE tags :set",
		"REMOVE #set":                  "SET f = :f REMOVE #set",
		"REMOVE a . set":               "SET f = :f REMOVE a . set",
		"REMOVE a.set SET b = :b":      "REMOVE a.set SET f = :f, b = :b",
		"ADD offset :n SET asset = :n": "ADD offset :n SET f = :f, asset = :n",
	} {
		if got := assign(update, "f = :f"); got != want {
			t.Errorf("%q becomes %q, want %q", update, got, want)
		}
	}
}

func TestBothKeepsAnOrWithin(t *testing.T) {
	for own, want := range map[string]string{
		"":                    "f",
		"  ":                  "f",
		"a = :a":              "(a = :a) AND f",
		"a = :a OR b = :b":    "(a = :a OR b = :b) AND f",
		"(a = :a OR b = :b)":  "(a = :a OR b = :b) AND f",
		"(a) OR (b)":          "((a) OR (b)) AND f",
		" ( (a) OR (b) ) ":    " ( (a) OR (b) )  AND f",
		"size(a) > size(b)":   "(size(a) > size(b)) AND f",
		"attribute_exists(a)": "(attribute_exists(a)) AND f",
	} {
		if got := both(own, "f"); got != want {
			t.Errorf("%q becomes %q, want %q", own, got, want)
		}
	}
}

func TestBalanced(t *testing.T) {
	for text, want := range map[string]bool{"": true, "(a)": true, "((a) AND b)": true, "(a": false, "a)": false, "a) OR (b": false, ")(": false} {
		if got := balanced(text); got != want {
			t.Errorf("%q is %v, want %v", text, got, want)
		}
	}
}

// FuzzUpdateOfTheMarkIsRefused looks for spellings of an attribute that the check does not see and the store would.
func FuzzUpdateOfTheMarkIsRefused(f *testing.F) {
	a, err := Attributes{}.resolve()
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{"SET ", "SET a = a-", "ADD b :b, ", "REMOVE a.", "SET a=if_not_exists(", "SET a[0]=", "SET :"} {
		f.Add(seed, " = :n")
	}
	f.Fuzz(func(t *testing.T, before, after string) {
		e := expressions{update: before + a.Token + after}
		// A name that goes on is another one, and so are a part of a path, a placeholder and a function.
		for _, w := range words(e.update) {
			if w.text == a.Token && !w.nested && !w.called {
				if e.check(a) == nil {
					t.Errorf("%q passes", e.update)
				}
				return
			}
		}
		if !anotherWord.MatchString(before + a.Token + after) {
			t.Errorf("%q has no word %s", e.update, a.Token)
		}
	})
}

// anotherWord is what the attribute's name may be a part of.
var anotherWord = regexp.MustCompile(`[\pL\pN_#:]fence_token|fence_token[\pL\pN_]|\.\s*fence_token|fence_token\s*\(`)

// TestClausesUseWhatTheyName, because DynamoDB refuses names and values that no expression uses.
func TestClausesUseWhatTheyName(t *testing.T) {
	a, err := Attributes{}.resolve()
	if err != nil {
		t.Fatal(err)
	}
	there := table{partition: "id"}
	stamp := fencerowtest.Token("kit:1", "account/42", 7).Stamp(3)
	for name, c := range map[string]*clause{
		"claim":            a.clause().there(there).claimable(stamp.Token(), 0).record(fence.ClaimOf(stamp.Token())),
		"claim with jump":  a.clause().claimable(stamp.Token(), 3),
		"claim, wide jump": a.clause().claimable(stamp.Token(), 9),
		"claimed":          a.clause().there(there).admits(fence.Claimed, stamp).record(fence.WriteOf(stamp)),
		"stepped":          a.clause().admits(fence.Stepped, stamp),
		"raises":           a.clause().raises(stamp).record(fence.WriteOf(stamp)),
		"absent":           a.clause().absent(there),
		"same":             a.clause().same(item{a.Token: number(7), a.Source: text("x")}).record(fence.Mark{Source: "x"}),
		"same as nothing":  a.clause().same(nil),
	} {
		e := expressions{}.with(c)
		uses := map[string]bool{}
		for _, w := range words(e.update + " " + e.condition) {
			uses[w.text] = true
		}
		for n := range e.names {
			if !uses[n] {
				t.Errorf("%s: %s is not used in %q %q", name, n, e.update, e.condition)
			}
			delete(uses, n)
		}
		for v := range e.values {
			if !uses[v] {
				t.Errorf("%s: %s is not used in %q %q", name, v, e.update, e.condition)
			}
			delete(uses, v)
		}
		for w := range uses {
			if strings.ContainsAny(w[:1], "#:") {
				t.Errorf("%s: %s is used and not given", name, w)
			}
		}
		if !balanced(e.condition) || strings.Contains(e.condition, "((") {
			t.Errorf("%s: DynamoDB would refuse the parentheses of %q", name, e.condition)
		}
	}
}

func TestMarkRoundTrip(t *testing.T) {
	a, err := Attributes{Token: "t"}.resolve()
	if err != nil {
		t.Fatal(err)
	}
	m := fence.Mark{Source: "kit:1", Number: 1<<63 - 1, Step: 1<<62 + 1, GrantID: "g"}
	stored := item{}
	a.put(stored, m)
	if got, err := a.markOf("account/42", stored); err != nil || got != m || stored["t"].(*types.AttributeValueMemberN).Value != "9223372036854775807" {
		t.Errorf("%+v becomes %+v: %v", m, got, err)
	}
	if got, err := a.markOf("account/42", nil); err != nil || got != (fence.Mark{}) {
		t.Errorf("an item without a mark has %+v: %v", got, err)
	}
	stored["t"] = &types.AttributeValueMemberBS{}
	if _, err := a.markOf("account/42", stored); fencerow.VerdictOf(err) != fencerow.Unfenced {
		t.Errorf("a mark of another type: %v", err)
	}
}
