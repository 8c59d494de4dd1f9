package fencerowtest_test

import (
	"math"
	"testing"

	"github.com/fencerow/fencerow"
	"github.com/fencerow/fencerow/fencerowtest"
)

func TestTokenIsWhatItWasAskedFor(t *testing.T) {
	t.Parallel()
	for _, resource := range []fencerow.Resource{"account/42", "a/ü %:'\"", "a/b/c"} {
		token := fencerowtest.Token("kit:1", resource, math.MaxInt64)
		if token.Resource() != resource || token.Source() != "kit:1" || token.Number() != math.MaxInt64 {
			t.Errorf("asked for %q, minted %v of %s", resource, token, token.Source())
		}
		if other := fencerowtest.Token("kit:1", resource, math.MaxInt64); other.GrantID() == token.GrantID() {
			t.Errorf("two tokens are of the grant %s", token.GrantID())
		}
	}
}

func TestTokenPanicsOnWhatNoTokenHas(t *testing.T) {
	t.Parallel()
	for name, mint := range map[string]func(){
		"source":   func() { fencerowtest.Token("", "account/42", 1) },
		"resource": func() { fencerowtest.Token("kit:1", "account", 1) },
		"number":   func() { fencerowtest.Token("kit:1", "account/42", 0) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("a token was minted with a bad %s", name)
				}
			}()
			mint()
		}()
	}
}
