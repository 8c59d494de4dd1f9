package sqlfence

import (
	"fmt"
	"strings"
	"testing"
)

func TestPlaceholders(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"none":                  {"balance = 0", "balance = 0"},
		"one":                   {"balance = balance - ?", "balance = balance - <1>"},
		"several":               {"a = ?, b=?+?", "a = <1>, b=<2>+<3>"},
		"in a string":           {"a = 'why?' || ?", "a = 'why?' || <1>"},
		"in a string, doubled":  {"a = 'it''s ?' || ?", "a = 'it''s ?' || <1>"},
		"in an identifier":      {`"a?" = ?`, `"a?" = <1>`},
		"in backquotes":         {"`a?` = ?", "`a?` = <1>"},
		"in a line comment":     {"a = 1 -- why?\n, b = ?", "a = 1 -- why?\n, b = <1>"},
		"in a block comment":    {"a = /* why? */ ?", "a = /* why? */ <1>"},
		"in a dollar string":    {"a = $$why?$$ || ?", "a = $$why?$$ || <1>"},
		"in a tagged string":    {"a = $x$why? $$ $x$ || ?", "a = $x$why? $$ $x$ || <1>"},
		"beside a number":       {"a = $1 + ?", "a = $1 + <1>"},
		"doubled":               {"a = b ?? 'key'", "a = b ? 'key'"},
		"doubled, then one":     {"a = b ??| ?", "a = b ?| <1>"},
		"unfinished string":     {"a = '?", "a = '?"},
		"unfinished comment":    {"a = 1 /* ?", "a = 1 /* ?"},
		"ends in a comment":     {"a = ? -- ?", "a = <1> -- ?"},
		"minus is no comment":   {"a = 1 - ?", "a = 1 - <1>"},
		"division is no start":  {"a = 1 / ?", "a = 1 / <1>"},
		"unicode":               {"a = 'ü?' || ? || 'é'", "a = 'ü?' || <1> || 'é'"},
		"dollar in a name":      {"a$b = ?", "a$b = <1>"},
		"dollar name and value": {"a$b = ? AND c$b = ?", "a$b = <1> AND c$b = <2>"},
	} {
		t.Run(name, func(t *testing.T) {
			n := 0
			got := replacePlaceholders(c.text, func() string { n++; return fmt.Sprintf("<%d>", n) })
			if got != c.want {
				t.Errorf("%q became %q, want %q", c.text, got, c.want)
			}
			if count := countPlaceholders(c.text); count != n {
				t.Errorf("%d are counted, %d were replaced", count, n)
			}
		})
	}
}

func FuzzPlaceholders(f *testing.F) {
	f.Add("a = ?, b = '?' -- ?\n, c = $x$?$x$ ?? ?")
	f.Fuzz(func(t *testing.T, text string) {
		n := 0
		out := replacePlaceholders(text, func() string { n++; return "\x00" })
		if strings.Count(text, "?") < n {
			t.Fatalf("%q has fewer question marks than the %d that were replaced", text, n)
		}
		// Nothing but question marks changes.
		strip := func(s string) string { return strings.NewReplacer("?", "", "\x00", "").Replace(s) }
		if strip(out) != strip(text) {
			t.Fatalf("%q became %q", text, out)
		}
	})
}
