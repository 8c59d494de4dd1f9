package sqlfence

import (
	"database/sql/driver"
	"strings"
	"testing"

	"github.com/fencerow/fencerow"
)

type uuid [2]byte

func (u uuid) String() string               { return "u-" + string(u[:]) }
func (u uuid) Value() (driver.Value, error) { return u.String(), nil }

type code struct{ n int }

func (c code) String() string { return "c" + string(rune('0'+c.n)) }

type region string

type level int

func (level) String() string { return "high" }

func TestKeyNamesTheResource(t *testing.T) {
	for name, c := range map[string]struct {
		key  Key
		want fencerow.Resource
		arg  any // of the first column, if not the value itself
	}{
		"int":            {Key{42}, "account/42", nil},
		"int64":          {Key{int64(-1)}, "account/-1", nil},
		"uint64":         {Key{uint64(1<<64 - 1)}, "account/18446744073709551615", nil},
		"string":         {Key{"42"}, "account/42", nil},
		"slashes":        {Key{"a/b"}, "account/a/b", nil},
		"percent":        {Key{"100%"}, "account/100%", nil},
		"named string":   {Key{region("eu")}, "account/eu", nil},
		"enum":           {Key{level(3)}, "account/3", nil},
		"UUID":           {Key{uuid{'a', 'b'}}, "account/u-ab", nil},
		"stringer":       {Key{code{7}}, "account/c7", "c7"},
		"two":            {Key{"eu", 42}, "account/eu/42", nil},
		"two, slashes":   {Key{"e/u", "4/2"}, "account/e%2Fu/4%2F2", nil},
		"two, percent":   {Key{"e%2Fu", 1}, "account/e%252Fu/1", nil},
		"empty in a two": {Key{"", "x"}, "account//x", nil},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := c.key.resource("account", len(c.key))
			if err != nil || got != c.want {
				t.Errorf("resource = %q, %v; want %q", got, err, c.want)
			}
			want := c.arg
			if want == nil {
				want = c.key[0]
			}
			if arg := keyArg(c.key[0]); arg != want {
				t.Errorf("the database is asked for %#v, want %#v", arg, want)
			}
		})
	}
}

func TestKeysThatNameNothing(t *testing.T) {
	for name, c := range map[string]struct {
		key     Key
		columns int
		says    string
	}{
		"float":        {Key{4.2}, 1, "float64"},
		"nil":          {Key{nil}, 1, "<nil>"},
		"bytes":        {Key{[]byte("x")}, 1, "[]uint8"},
		"too few":      {Key{}, 1, "0 values"},
		"too many":     {Key{1, 2}, 1, "2 values"},
		"empty string": {Key{""}, 1, "no id"},
		"newline":      {Key{"a\nb"}, 1, "U+000A"},
		"huge":         {Key{strings.Repeat("x", 1000)}, 1, "limit"},
	} {
		if _, err := c.key.resource("account", c.columns); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want an error that says %q", name, err, c.says)
		}
	}
}

// No two keys of the same columns share a resource: otherwise two locks would protect one row, or one lock two.
func FuzzKeysAreDistinct(f *testing.F) {
	f.Add("a/b", "c", "a", "b/c")
	f.Add("a%2Fb", "c", "a/b", "c")
	f.Fuzz(func(t *testing.T, a1, a2, b1, b2 string) {
		a, errA := Key{a1, a2}.resource("k", 2)
		b, errB := Key{b1, b2}.resource("k", 2)
		if errA == nil && errB == nil && a == b && (a1 != b1 || a2 != b2) {
			t.Fatalf("(%q, %q) and (%q, %q) are both %q", a1, a2, b1, b2, a)
		}
	})
}
