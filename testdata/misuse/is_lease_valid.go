//go:build ignore

// A lease does not say whether it is valid: the answer would be wrong by the time it is used.
// want: lease.Valid undefined

package main

import "github.com/fencerow/fencerow"

func write(lease *fencerow.Lease) {
	if lease.Valid() {
		println("written")
	}
}

func main() {}
