//go:build ignore

// Nobody but a lock service makes a token with a number.
// want: unknown field number in struct literal of type fencerow.Token|cannot refer to unexported field number

package main

import "github.com/fencerow/fencerow"

var token = fencerow.Token{number: 35}

func main() {}
