// Package memlock is a lock service in the memory of one process: the reference for other implementations, and the one to
// use in unit tests. Its grants are fair, its numbers end with the process.
//
// It promises what every lock service promises, as long as the process lives. A new Service is a new source, so that its
// tokens are never compared with those of another. It keeps the number of every resource it has seen.
//
// Inside a testing/synctest bubble leases run on the bubble's clock.
package memlock
