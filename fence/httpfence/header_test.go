package httpfence

import (
	"errors"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/fencerow/fencerow"
)

func testStamp(t testing.TB, step int64) fencerow.Stamp {
	t.Helper()
	token, err := fencerow.ParseToken("v1:9007199254740993:grant:etcd%3A1:account/a%3Bb%22")
	if err != nil {
		t.Fatal(err)
	}
	return token.Stamp(step)
}

func TestHeaderForm(t *testing.T) {
	stamp := testStamp(t, 7)
	text, err := FormatHeader(stamp)
	if err != nil || text != "v1:9007199254740993:grant:etcd%3A1:account/a%3Bb%22;7" {
		t.Errorf("%s, %v", text, err)
	}
	if back, err := ParseHeader(text); err != nil || back != stamp {
		t.Errorf("%v, %v", back, err)
	}
	for _, bad := range []fencerow.Stamp{{}, testStamp(t, 0), testStamp(t, -1)} {
		if _, err := FormatHeader(bad); !errors.Is(err, fencerow.ErrNoToken) {
			t.Errorf("%v: %v", bad, err)
		}
	}
}

func TestParseHeaderRefuses(t *testing.T) {
	const token = "v1:5:g:s:account/42"
	for text, want := range map[string]error{
		"":                             fencerow.ErrNoToken,
		token:                          fencerow.ErrInvalidToken,
		token + ";":                    fencerow.ErrInvalidToken,
		token + ";0":                   fencerow.ErrInvalidToken,
		token + ";-1":                  fencerow.ErrInvalidToken,
		token + ";+1":                  fencerow.ErrInvalidToken,
		token + ";01":                  fencerow.ErrInvalidToken,
		token + ";1 ":                  fencerow.ErrInvalidToken,
		token + "; 1":                  fencerow.ErrInvalidToken,
		token + ";1;2":                 fencerow.ErrInvalidToken,
		token + ";9223372036854775808": fencerow.ErrInvalidToken,
		";1":                           fencerow.ErrNoToken,
		"v2:5:g:s:account/42;1":        fencerow.ErrInvalidToken,
		"v1:05:g:s:account/42;1":       fencerow.ErrInvalidToken,
	} {
		if _, err := ParseHeader(text); !errors.Is(err, want) {
			t.Errorf("%q: %v, want %v", text, err, want)
		}
	}
}

func TestHeaderThatIsThereTwice(t *testing.T) {
	r := httptest.NewRequest("POST", "/", nil)
	if _, err := FromRequest(r); !errors.Is(err, fencerow.ErrNoToken) {
		t.Errorf("none: %v", err)
	}
	r.Header.Add(Header, "v1:5:g:s:account/42;1")
	if _, err := FromRequest(r); err != nil {
		t.Error(err)
	}
	r.Header.Add(Header, "v1:5:g:s:account/42;1")
	if _, err := FromRequest(r); !errors.Is(err, fencerow.ErrInvalidToken) {
		t.Errorf("two: %v", err)
	}
}

func FuzzParseHeader(f *testing.F) {
	f.Add("v1:5:g:s:account/42;7")
	f.Fuzz(func(t *testing.T, text string) {
		stamp, err := ParseHeader(text)
		if err != nil {
			return
		}
		if again, err := FormatHeader(stamp); err != nil || again != text {
			t.Errorf("%q was read, and is written as %q, %v", text, again, err)
		}
	})
}

func TestIdempotencyKeys(t *testing.T) {
	seen := map[string]bool{}
	for _, text := range []string{"v1:5:g:s:a/b", "v1:5:g:s:a/c", "v1:6:g:s:a/b", "v1:5:h:s:a/b", "v1:5:g:t:a/b"} {
		token, err := fencerow.ParseToken(text)
		if err != nil {
			t.Fatal(err)
		}
		for step := range int64(3) {
			key, err := IdempotencyKey(token.Stamp(step + 1))
			again, _ := IdempotencyKey(token.Stamp(step + 1))
			if err != nil || len(key) != 64 || seen[key] || key != again || strings.ToLower(key) != key {
				t.Errorf("%s, step %d: %s, %s, %v", text, step+1, key, again, err)
			}
			seen[key] = true
		}
	}
	if _, err := IdempotencyKey(fencerow.Stamp{}); !errors.Is(err, fencerow.ErrNoToken) {
		t.Error(err)
	}
}
