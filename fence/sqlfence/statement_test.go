package sqlfence

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files anew")

func testTable(t testing.TB, dialect Dialect, schema Schema) *Table {
	t.Helper()
	resolved, err := schema.resolve()
	if err != nil {
		t.Fatal(err)
	}
	return &Table{dialect: dialect, schema: resolved, texts: new(texts)}
}

func TestStatementsGolden(t *testing.T) {
	forms := []struct {
		name   string
		schema Schema
	}{
		{"token", Schema{Name: "accounts", Class: "account", Key: []string{"id"}}},
		{"token, not older", Schema{Name: "accounts", Class: "account", Key: []string{"id"}, NotOlder: true}},
		{"token and step", Schema{Name: "accounts", Class: "account", Key: []string{"id"}, Step: "fence_step"}},
		{"token, step and grant", Schema{Name: "accounts", Class: "account", Key: []string{"id"}, Step: "fence_step", Grant: "fence_grant"}},
		{"hostile names", Schema{Name: `Ba"nk.my "accounts"; --`, Class: "account", Key: []string{`the "region"`, "Id"}, Token: "Token ?", Step: "step$1"}},
	}
	for _, dialect := range []Dialect{Postgres, MySQL, SQLite} {
		t.Run(dialect.name, func(t *testing.T) {
			var out strings.Builder
			for _, form := range forms {
				table := testTable(t, dialect, form.schema)
				c := call{
					stamp: testStamp(t, "34", "g", 7), key: Key{"eu", 42}[:len(form.schema.Key)], columns: []string{"balance"},
					changes: changes{
						set:   []Clause{Set("balance = balance - ?, note = 'why?'", 100), Set("by = ? -- that's who", "me")},
						where: []Clause{Where("balance >= ?", 100), Where("open OR ?", true)},
					},
				}
				c.values = []value{{"balance", 100}}
				for _, name := range []string{"update", "claim", "state", "insert", "delete", "override"} {
					if name == "claim" && form.schema.Grant == "" {
						continue
					}
					s, err := table.rowStatement(name, c)
					if err != nil {
						t.Fatal(err)
					}
					fmt.Fprintf(&out, "-- %s, %s\n%s\n-- %v\n\n", form.name, name, s.text, s.args)
				}
			}
			golden(t, dialect.name+".sql", out.String())
		})
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s has changed; look at the difference, then run the test with -update:\n%s", file, got)
	}
}

// A kept text must serve other arguments and no other shape.
func TestKeptTextsAreNotMixedUp(t *testing.T) {
	table := testTable(t, Postgres, fullSchema)
	shapes := []changes{
		{set: []Clause{Set("a = ?", 1)}},
		{set: []Clause{Set("a = ?", 1)}, where: []Clause{Where("a = ?", 2)}},
		{set: []Clause{Set("a = ?", 1), Set("a = ?", 2)}},
		{set: []Clause{Set("a = ?", 1), Set("b = ?", 2)}},
		{set: []Clause{Set("a = ?", 1)}, where: []Clause{Where("b = ?", 2)}},
	}
	texts := map[string]bool{}
	for round := range 3 {
		for _, c := range shapes {
			s, err := table.rowStatement("update", call{stamp: testStamp(t, "34", "g", int64(round+1)), key: Key{42}, changes: c})
			if err != nil {
				t.Fatal(err)
			}
			texts[s.text] = true
			if n := strings.Count(s.text, "$"); n != len(s.args) {
				t.Errorf("%d placeholders and %d arguments: %s", n, len(s.args), s.text)
			}
			if got := fmt.Sprint(s.args); !strings.Contains(got, fmt.Sprint(round+1)) {
				t.Errorf("round %d: the step is not among %v", round, s.args)
			}
		}
	}
	if len(texts) != len(shapes) {
		t.Errorf("%d texts for %d shapes", len(texts), len(shapes))
	}
}

func TestKeptTextsAreBounded(t *testing.T) {
	table := testTable(t, Postgres, fullSchema)
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for i := range maxTexts {
				c := call{stamp: testStamp(t, "34", "g", 1), key: Key{42}, changes: changes{set: []Clause{Set(fmt.Sprintf("a = %d", w*maxTexts+i))}}}
				if _, err := table.rowStatement("update", c); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if n := table.texts.count.Load(); n > maxTexts+4 {
		t.Errorf("%d texts are kept", n)
	}
}

func TestEachDialectHasItsStatements(t *testing.T) {
	for _, dialect := range []Dialect{Postgres, MySQL, SQLite} {
		for _, name := range []string{"gate_schema", "gate_probe", "gate_look", "gate_claim", "gate_admit", "gate_state", "gate_share",
			"gate_set", "gate_handover", "override_schema", "override_probe", "override_record", "override_list", "catalog_kind", "catalog_columns", "catalog_unique"} {
			if strings.TrimSpace(dialect.statement(name)) == "" {
				t.Errorf("%s has no statement %s", dialect.name, name)
			}
		}
	}
}
