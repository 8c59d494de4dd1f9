//go:build ignore

// A token cannot be raised by hand either.
// want: token.number undefined

package main

import "github.com/fencerow/fencerow"

func raise(token fencerow.Token) fencerow.Token {
	token.number++
	return token
}

func main() {}
