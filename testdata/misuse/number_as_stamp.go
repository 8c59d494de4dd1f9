//go:build ignore

// A number is not a stamp: anybody can write one down.
// want: cannot use 34 .* as fencerow.Stamp value

package main

import (
	"context"

	"github.com/fencerow/fencerow/fence/sqlfence"
)

func debit(ctx context.Context, accounts *sqlfence.Table) error {
	return accounts.Update(ctx, 34, sqlfence.Key{42}, sqlfence.Set("balance = 0"))
}

func main() {}
