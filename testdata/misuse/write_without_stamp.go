//go:build ignore

// A fenced update needs a stamp.
// want: not enough arguments in call to accounts.Update

package main

import (
	"context"

	"github.com/fencerow/fencerow/fence/sqlfence"
)

func debit(ctx context.Context, accounts *sqlfence.Table) error {
	return accounts.Update(ctx)
}

func main() {}
