// Package sqlfence makes a database refuse the writes of a superseded lock holder, through database/sql.
//
// Every operation takes a [fencerow.Stamp], so that a write without one does not compile. The comparison is part of the
// write, or of a transaction that has locked the gate before: no clock is asked, and nothing in the client decides.
//
// # The gate
//
// [Gate] is for anything that is more than one statement on one row: several tables, an ORM, a lock that covers many rows.
// [Gate.Tx] claims the resource for the grant before the first read, checks and records the stamp in the resource's gate
// row, runs your function in the same transaction and commits. Everything that the function writes is applied at most once
// per stamp, and not at all once a newer holder has claimed.
//
// # The row
//
// [Table] is for a lock that protects one row each. What it promises depends on the columns that the table has:
//
//	fence_token                            the runbook's form: one write per grant and row. The older holder is refused
//	                                       once the newer one has written, not before.
//	fence_token, fence_step                many writes per grant, each applied at most once.
//	fence_token, fence_step, fence_grant   claim before read: from the newer holder's claim on the older one is refused,
//	                                       also when a number was issued twice. Table.Claim raises the mark and returns
//	                                       the row in one statement, and an update without it is refused.
//
// Columns are compared as they are stored: fence_token and fence_step must be 64-bit integers, fence_grant text. Do not
// index them; on Postgres an index on the token makes every update rewrite all indexes of the row.
//
// # Answers
//
// A nil error means applied. The sentinel errors of package fencerow name every other answer exactly; zero affected rows are
// never taken for stale without having looked. Errors of the driver stay reachable by errors.As. A conflict or a lost
// connection is resolved by sending the same stamp again, within the context's time; what could not be resolved is
// [fencerow.ErrAmbiguous].
package sqlfence
