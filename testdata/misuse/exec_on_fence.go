//go:build ignore

// A fence has no way around itself.
// want: accounts.Exec undefined

package main

import (
	"context"

	"github.com/fencerow/fencerow/fence/sqlfence"
)

func debit(ctx context.Context, accounts *sqlfence.Table) error {
	_, err := accounts.Exec(ctx, "UPDATE account_balances SET balance = 0")
	return err
}

func main() {}
