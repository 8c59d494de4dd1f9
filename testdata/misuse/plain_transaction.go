//go:build ignore

// A function that demands a transaction which has passed the gate cannot be given one that has not.
// want: cannot use tx .* as \*sqlfence.Tx value

package main

import (
	"database/sql"

	"github.com/fencerow/fencerow/fence/sqlfence"
)

func settle(tx *sqlfence.Tx) {}

func handler(tx *sql.Tx) { settle(tx) }

func main() {}
