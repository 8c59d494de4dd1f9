// Package fencerow makes a distributed lock safe by fencing every write that it protects.
//
// A lease says "you hold this lock for 30 seconds". It cannot say "you will still be running in 30 seconds": a pause of
// the collector, a frozen machine or a partition outlives it, a peer takes over, and the old worker wakes up and writes.
// Fencerow gives every grant a [Token] whose number only grows, makes every write carry it as a [Stamp], and lets the
// resource itself refuse the stamp of an older holder, inside the write.
//
//	lock service ──grant──▶ Lease ──Token──▶ your code ──Stamp──▶ fence at the resource ──verdict──▶ you
//
// # Take a lease
//
// A [Locker] works on a lock service: package lock/sqllock keeps the locks in a database, lock/memlock in this process.
// [Locker.Do] acquires, runs a function and releases; [Locker.Acquire] and [Locker.TryAcquire] return the [Lease].
//
// # Write through a fence
//
// Packages under fence/ compare the stamp with what the resource has stored. A fence takes a stamp with every operation:
// [Lease.Stamp] makes the next one. Keep a stamp to retry the same operation; it is applied at most once.
//
// Claim before the first read. Until the newer holder has claimed, a resource has no way to know about it, and still admits
// the older one. The transaction gate of fence/sqlfence claims by itself.
//
// # Answers
//
// A nil error means applied. Every other answer is a sentinel error of this package, such as [ErrStale] or [ErrDuplicate],
// and says what is true of the resource; [VerdictOf] turns it into a word for logs and metrics. Only [ErrAmbiguous] leaves
// open whether the write was applied: send the same stamp again.
//
// # What is not promised
//
// Two processes can believe that they hold the same lock; no lock service can prevent that. An older holder is stopped from
// the newer one's claim on, not from its grant on. What is written around the fence is not protected. The files
// docs/guarantees.md and docs/fault-model.md say more, and name the test of each promise.
package fencerow
