//go:build ignore

// There is no stamp that says "not fenced".
// want: cannot use nil as fencerow.Stamp value

package main

import (
	"context"

	"github.com/fencerow/fencerow/fence/sqlfence"
)

func debit(ctx context.Context, accounts *sqlfence.Table) error {
	return accounts.Update(ctx, nil, sqlfence.Key{42}, sqlfence.Set("balance = 0"))
}

func main() {}
