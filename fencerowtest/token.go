package fencerowtest

import (
	"crypto/rand"
	"fmt"
	"strings"

	"github.com/fencerow/fencerow"
)

// Token makes a token that no lock service granted, with a random grant id, for tests of code behind a fence. It panics on a
// source, resource or number that no token has. Production code has no use for it.
func Token(source string, resource fencerow.Resource, number int64) fencerow.Token {
	token, err := fencerow.ParseToken(fmt.Sprintf("v1:%d:%s:%s:%s", number, rand.Text(), percent(source), percent(string(resource))))
	if err != nil {
		panic(err)
	}
	return token
}

// percent writes a part of a token's text.
func percent(s string) string {
	var b strings.Builder
	for _, c := range []byte(s) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.IndexByte("-._/@", c) >= 0:
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}
