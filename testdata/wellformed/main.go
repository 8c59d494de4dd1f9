//go:build ignore

// The right program: it shows that the wrong ones fail for their own reason.

package main

import (
	"context"

	"github.com/fencerow/fencerow"
	"github.com/fencerow/fencerow/fence/sqlfence"
)

func debit(ctx context.Context, accounts *sqlfence.Table, lease *fencerow.Lease) error {
	return accounts.Update(ctx, lease.Stamp(), sqlfence.Key{42}, sqlfence.Set("balance = balance - ?", 100))
}

func main() {}
