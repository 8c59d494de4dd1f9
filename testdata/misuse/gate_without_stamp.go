//go:build ignore

// A fenced transaction needs a stamp.
// want: not enough arguments in call to gate.Tx

package main

import (
	"context"

	"github.com/fencerow/fencerow/fence/sqlfence"
)

func settle(ctx context.Context, gate *sqlfence.Gate) error {
	return gate.Tx(ctx, "account/42", func(context.Context, *sqlfence.Tx) error { return nil })
}

func main() {}
