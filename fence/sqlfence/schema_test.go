package sqlfence

import (
	"strings"
	"testing"
)

var fullSchema = Schema{Name: "bank.accounts", Class: "account", Key: []string{"account_id"}, Step: "fence_step", Grant: "fence_grant"}

func TestSchemaIsChecked(t *testing.T) {
	with := func(change func(*Schema)) Schema {
		s := fullSchema
		s.Key = []string{"account_id"}
		change(&s)
		return s
	}
	for name, c := range map[string]struct {
		schema Schema
		says   string // empty: accepted
	}{
		"full":               {fullSchema, ""},
		"no name":            {with(func(s *Schema) { s.Name = "" }), "table name"},
		"empty part":         {with(func(s *Schema) { s.Name = "bank." }), "table name"},
		"no class":           {with(func(s *Schema) { s.Class = "" }), "class"},
		"bad class":          {with(func(s *Schema) { s.Class = "my account" }), "class"},
		"class with a slash": {with(func(s *Schema) { s.Class = "a/b" }), "class"},
		"no key":             {with(func(s *Schema) { s.Key = nil }), "key columns"},
		"empty key column":   {with(func(s *Schema) { s.Key = []string{""} }), "not a name"},
		"NUL in a name":      {with(func(s *Schema) { s.Step = "a\x00" }), "not a name"},
		"grant without step": {with(func(s *Schema) { s.Step = "" }), "needs a step"},
		"not older and step": {with(func(s *Schema) { s.NotOlder = true }), "NotOlder"},
		"named twice":        {with(func(s *Schema) { s.Step = "fence_token" }), "twice"},
		"key is the fence":   {with(func(s *Schema) { s.Key = []string{"fence_grant"} }), "twice"},
	} {
		_, err := c.schema.resolve()
		if c.says == "" && err != nil || c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%s: %v, want an error that says %q", name, err, c.says)
		}
	}
}

func TestClausesAreChecked(t *testing.T) {
	for name, c := range map[string]struct {
		clauses []Clause
		says    string // empty: accepted
	}{
		"one":              {[]Clause{Set("a = ?", 1)}, ""},
		"all":              {[]Clause{Set("a = ?", 1), Set("b = 2"), Where("c > ? AND d < ?", 1, 2), Expect(3)}, ""},
		"none":             {nil, "needs Set"},
		"no Set":           {[]Clause{Where("a = 1")}, "needs Set"},
		"zero clause":      {[]Clause{Set("a = 1"), {}}, "zero Clause"},
		"empty Set":        {[]Clause{Set("  ")}, "empty"},
		"empty Where":      {[]Clause{Set("a = 1"), Where("")}, "empty"},
		"too few args":     {[]Clause{Set("a = ?, b = ?", 1)}, "2 placeholders and 1 arguments"},
		"too many args":    {[]Clause{Set("a = 1", 1)}, "0 placeholders and 1 arguments"},
		"open string":      {[]Clause{Set("a = 'x")}, "within quotes"},
		"open identifier":  {[]Clause{Set(`"a = 1`)}, "within quotes"},
		"open comment":     {[]Clause{Set("a = 1 /* x")}, "within quotes or a comment"},
		"half comment":     {[]Clause{Set("a = 1 /*/")}, "within quotes or a comment"},
		"open dollar":      {[]Clause{Set("a = $x$ y")}, "within quotes"},
		"line comment":     {[]Clause{Set("a = 1 -- x")}, ""},
		"quoted semicolon": {[]Clause{Set("a = ';' -- ;\n")}, ""},
		"two statements":   {[]Clause{Set("a = 1; DELETE FROM b")}, "semicolon"},
		"Where goes on":    {[]Clause{Set("a = 1"), Where("true); DELETE FROM b --")}, "parentheses"},
		"parentheses":      {[]Clause{Set("a = (1 + f(2)) || ')'")}, ""},
		"Where goes out":   {[]Clause{Set("a = 1"), Where("true) OR (true")}, "parentheses"},
		"one too few":      {[]Clause{Set("a = (1")}, "parentheses"},
		"Expect nothing":   {[]Clause{Set("a = 1"), Expect(0)}, "Expect(0)"},
		"Expect less":      {[]Clause{Set("a = 1"), Expect(-1)}, "Expect(-1)"},
		"Expect two times": {[]Clause{Set("a = 1"), Expect(1), Expect(2)}, "one expected number"},
	} {
		sorted, err := sortClauses(Postgres, c.clauses)
		if err == nil {
			err = sorted.needSet()
		}
		if c.says == "" && err != nil || c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%s: %v, want an error that says %q", name, err, c.says)
		}
	}
}

// MySQL ends strings and comments in its own way.
func TestClausesThatMySQLReadsDifferently(t *testing.T) {
	for _, text := range []string{`a = 'it\'s ?'`, "a = 1 # more", "a = /*! 1) OR (1 */ 1"} {
		if _, err := sortClauses(MySQL, []Clause{Set(text)}); err == nil || !strings.Contains(err.Error(), "as arguments") {
			t.Errorf("%q: %v", text, err)
		}
	}
	if _, err := sortClauses(MySQL, []Clause{Set("a = ? -- b\n, c = 'x'", `\`)}); err != nil {
		t.Error(err)
	}
}

func TestZeroDialectIsRefused(t *testing.T) {
	if _, err := OpenTable(t.Context(), nil, Dialect{}, fullSchema, nil); err == nil || !strings.Contains(err.Error(), "dialect") {
		t.Errorf("OpenTable: %v", err)
	}
	if _, err := OpenGate(t.Context(), nil, Dialect{}, nil); err == nil || !strings.Contains(err.Error(), "dialect") {
		t.Errorf("OpenGate: %v", err)
	}
}
