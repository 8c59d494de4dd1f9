//go:build ignore

// Nor does it say how long it lasts.
// want: lease.TTL undefined

package main

import "github.com/fencerow/fencerow"

func write(lease *fencerow.Lease) {
	if lease.TTL() > 0 {
		println("written")
	}
}

func main() {}
