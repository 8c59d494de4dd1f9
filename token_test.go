package fencerow

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"math"
	"strings"
	"testing"
)

// mint makes a token that no lock service granted.
func mint(t testing.TB, source string, resource Resource, number int64, grant string) Token {
	t.Helper()
	token, err := newToken(source, resource, number, grant)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func TestTokenTextForm(t *testing.T) {
	for _, c := range []struct {
		name  string
		token Token
		text  string
	}{
		{"plain", mint(t, "sqlite:ABC", "account/42", 34, "g1"), "v1:34:g1:sqlite%3AABC:account/42"},
		{"largest number", mint(t, "s", "a/b", math.MaxInt64, "g"), "v1:9223372036854775807:g:s:a/b"},
		{"hostile id", mint(t, "s", `a/x:"%' ü,`, 1, "g"), "v1:1:g:s:a/x%3A%22%25%27%20%C3%BC%2C"},
	} {
		t.Run(c.name, func(t *testing.T) {
			text, err := c.token.MarshalText()
			if err != nil || string(text) != c.text {
				t.Fatalf("MarshalText = %s, %v; want %s", text, err, c.text)
			}
			back, err := ParseToken(string(text))
			if err != nil || back != c.token {
				t.Fatalf("ParseToken = %v, %v; want the same token", back, err)
			}
			quoted, err := json.Marshal(c.token)
			if err != nil || !bytes.Equal(quoted, []byte(`"`+c.text+`"`)) {
				t.Fatalf("json = %s, %v; want a string, so that no reader rounds the number", quoted, err)
			}
		})
	}
}

func TestParseTokenRefuses(t *testing.T) {
	long := strings.Repeat("x", 500)
	for name, text := range map[string]string{
		"another version":       "v2:1:g:s:a/b",
		"too few parts":         "v1:1:g:s",
		"too many parts":        "v1:1:g:s:a/b:c",
		"number zero":           "v1:0:g:s:a/b",
		"negative number":       "v1:-1:g:s:a/b",
		"plus sign":             "v1:+1:g:s:a/b",
		"leading zero":          "v1:01:g:s:a/b",
		"number of 2^63":        "v1:9223372036854775808:g:s:a/b",
		"float":                 "v1:1e3:g:s:a/b",
		"no grant":              "v1:1::s:a/b",
		"no source":             "v1:1:g::a/b",
		"control in source":     "v1:1:g:s%00:a/b",
		"resource without id":   "v1:1:g:s:a/",
		"resource with control": "v1:1:g:s:a/b%0A",
		"resource not UTF-8":    "v1:1:g:s:a/%FF",
		"needless escape":       "v1:1:g:s:a/%62",
		"lower-case escape":     "v1:1:g:s:a/%c3%bc",
		"cut escape":            "v1:1:g:s:a/b%C",
		"raw space":             "v1:1:g:s:a/b c",
		"long source":           "v1:1:g:" + long + ":a/b",
		"long resource":         "v1:1:g:s:a/" + long,
	} {
		t.Run(name, func(t *testing.T) {
			token, err := ParseToken(text)
			if !errors.Is(err, ErrInvalidToken) || !token.IsZero() {
				t.Fatalf("ParseToken(%q) = %v, %v; want ErrInvalidToken", text, token, err)
			}
		})
	}
	if _, err := ParseToken(""); !errors.Is(err, ErrNoToken) {
		t.Fatalf("empty text: %v; want ErrNoToken", err)
	}
}

func FuzzParseToken(f *testing.F) {
	f.Add("v1:34:g1:sqlite%3AABC:account/42")
	f.Add("v1:9223372036854775807:g:s:a/x%3A%22%25%27%20%C3%BC%2C")
	f.Fuzz(func(t *testing.T, text string) {
		token, err := ParseToken(text)
		if err != nil {
			if !token.IsZero() {
				t.Fatalf("an error and a token: %v", token)
			}
			return
		}
		back, err := token.MarshalText()
		if err != nil || string(back) != text {
			t.Fatalf("%q was accepted and written back as %q, %v: a token has one text only", text, back, err)
		}
		if token.Number() < 1 || token.Resource().Validate() != nil {
			t.Fatalf("accepted an invalid token: %#v", token)
		}
	})
}

func TestTokenCompareNeedsOneSequence(t *testing.T) {
	a := mint(t, "s", "account/1", 1, "g1")
	b := mint(t, "s", "account/1", 2, "g2")
	for _, c := range []struct {
		name string
		t, u Token
		want int
		err  error
	}{
		{"older", a, b, -1, nil},
		{"newer", b, a, 1, nil},
		{"same", a, a, 0, nil},
		{"other source", a, mint(t, "s2", "account/1", 2, "g2"), 0, ErrMismatch},
		{"other resource", a, mint(t, "s", "account/2", 2, "g2"), 0, ErrMismatch},
		{"reused number", a, mint(t, "s", "account/1", 1, "g2"), 0, ErrTokenReused},
		{"zero", a, Token{}, 0, ErrNoToken},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := c.t.Compare(c.u)
			if got != c.want || !errors.Is(err, c.err) {
				t.Fatalf("Compare = %d, %v; want %d, %v", got, err, c.want, c.err)
			}
		})
	}
}

func TestZeroTokenIsRefusedEverywhere(t *testing.T) {
	if _, err := (Token{}).MarshalText(); !errors.Is(err, ErrNoToken) {
		t.Errorf("MarshalText: %v", err)
	}
	if err := (Token{}).Stamp(1).Check("a/b"); !errors.Is(err, ErrNoToken) {
		t.Errorf("a stamp of the zero token: %v", err)
	}
	if err := (Stamp{}).Check("a/b"); !errors.Is(err, ErrNoToken) {
		t.Errorf("the zero stamp: %v", err)
	}
	for _, step := range []int64{0, -1, math.MinInt64} {
		if err := mint(t, "s", "a/b", 1, "g").Stamp(step).Check("a/b"); !errors.Is(err, ErrNoToken) {
			t.Errorf("step %d: %v", step, err)
		}
	}
	if err := mint(t, "s", "a/b", 1, "g").Stamp(1).Check("a/c"); !errors.Is(err, ErrMismatch) {
		t.Errorf("a stamp of another resource: %v", err)
	}
}

func TestStampIsLoggedWithTheNamesOfTheRunbook(t *testing.T) {
	var out bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&out, nil))
	stamp := mint(t, "sqlite:ABC", "account/42", 34, "g1").Stamp(2)
	logger.Info("write", "", stamp)
	logger.Info("write", "token", Token{})
	for _, want := range []string{"fence_token=34", "resource=account/42", "lock_service=sqlite:ABC", "grant=g1", "fence_step=2", `token="no token"`} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the log %q lacks %s", out.String(), want)
		}
	}
}

func TestResourceNames(t *testing.T) {
	for name, r := range map[string]Resource{
		"plain":      "account/42",
		"nested":     "account/eu/42",
		"odd id":     `a/';DROP TABLE x;-- "{}[]$%` + "`",
		"unicode":    "account/Übung-日本",
		"longest":    Resource("a/" + strings.Repeat("x", MaxResourceLen-2)),
		"dots":       "a.b_c-d/..",
		"with space": "a/b c",
	} {
		if err := r.Validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, c := range map[string]struct {
		resource Resource
		says     string
	}{
		"empty":           {"", "empty"},
		"no slash":        {"account", "no slash"},
		"no class":        {"/42", "class"},
		"no id":           {"account/", "no id"},
		"space in class":  {"my account/1", "class"},
		"unicode class":   {"Übung/1", "class"},
		"long class":      {Resource(strings.Repeat("c", 65) + "/1"), "class"},
		"newline":         {"account/4\n2", "U+000A"},
		"NUL":             {"account/\x00", "U+0000"},
		"not UTF-8":       {"account/\xff", "UTF-8"},
		"right-to-left":   {"account/\u202e24", "U+202E"},
		"one byte longer": {Resource("a/" + strings.Repeat("x", MaxResourceLen-1)), "limit"},
		"huge":            {Resource("a/" + strings.Repeat("x", 1<<20)), "limit"},
	} {
		err := c.resource.Validate()
		if !errors.Is(err, ErrInvalidResource) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v; want ErrInvalidResource that says %q", name, err, c.says)
		} else if len(err.Error()) > 500 {
			t.Errorf("%s: the error is %d bytes long", name, len(err.Error()))
		}
	}
	if r := Resource("account/eu/42"); r.Class() != "account" || r.ID() != "eu/42" {
		t.Errorf("Class, ID = %q, %q", r.Class(), r.ID())
	}
}

func TestVerdictOfEachError(t *testing.T) {
	stale := &StaleError{Resource: "a/b", Presented: 1, Stored: 2}
	for err, want := range map[error]Verdict{
		nil: Applied, ErrDuplicate: Duplicate, ErrOutOfOrder: OutOfOrder, ErrStale: Stale, stale: Stale, ErrMissing: Missing,
		ErrRejected: Rejected, ErrUnclaimed: Unclaimed, ErrConflict: Conflict, ErrAmbiguous: Ambiguous, ErrUnfenced: Unfenced,
		ErrNoToken: Unfenced, ErrTokenReused: TokenReused, ErrMismatch: SourceMismatch, errors.New("syntax error"): Failed,
		errors.Join(ErrAmbiguous, stale): Ambiguous,
	} {
		if got := VerdictOf(err); got != want {
			t.Errorf("VerdictOf(%v) = %s, want %s", err, got, want)
		}
	}
}
