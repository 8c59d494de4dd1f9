// Package driver is what a lock service implements. Applications use package fencerow.
//
// An implementation makes one promise above all: the number of a grant is greater than that of every earlier grant of
// the same resource by the same source, whoever held it, however it ended, and whether or not the process or the
// server was restarted in between. The number is minted by the operation that grants the lock, in the same atomic step.
//
// [LockService] is small; everything else is an optional interface that the Locker looks for:
//
//   - [Queuer] waits in the service's own queue, first come first served;
//   - [Waiter] wakes a waiting process when the resource may be free, instead of polling;
//   - [BatchRenewer] renews many grants in one request;
//   - [Seeder] raises a counter, for a move from another service or after lost state;
//   - [Retirer] gives a resource up, for a move to another service;
//   - [Inspector] shows who holds what.
//
// Package fencerowtest has the conformance suite that is the definition of done for an implementation.
package driver
