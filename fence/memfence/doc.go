// Package memfence fences values in the memory of one process: the reference for other fences, and the one to use in unit
// tests of code that handles stale writers.
//
// It keeps every promise that a durable fence makes, as long as the process lives: a claim is strict, a write needs a claim, and
// each stamp is applied at most once.
package memfence
