//go:build ignore

// Tokens of two sources have no order, so there is no operator that pretends one.
// want: operator < not defined on struct

package main

import "github.com/fencerow/fencerow"

func older(a, b fencerow.Token) bool { return a < b }

func main() {}
