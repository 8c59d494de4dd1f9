//go:build ignore

// A token alone says which grant, not which operation: a retry could not be told from a second write.
// want: cannot use lease.Token\(\) .* as fencerow.Stamp value

package main

import (
	"context"

	"github.com/fencerow/fencerow"
	"github.com/fencerow/fencerow/fence/sqlfence"
)

func debit(ctx context.Context, accounts *sqlfence.Table, lease *fencerow.Lease) error {
	return accounts.Update(ctx, lease.Token(), sqlfence.Key{42}, sqlfence.Set("balance = 0"))
}

func main() {}
