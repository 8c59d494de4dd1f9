// Package sqlfence makes a database refuse the writes of a superseded lock holder, through database/sql: PostgreSQL, MySQL and MariaDB,
// SQLite.
//
// Every operation takes a [fencerow.Stamp], so that a write without one does not compile. The comparison is part of the
// write, or of a transaction that has locked the gate before: no clock is asked, and nothing in the client decides.
//
// # The gate
//
// [Gate] is for anything that is more than one statement on one row: several tables, an ORM, a lock that covers many rows.
// [Gate.Tx] claims the resource for the grant before the first read, checks and records the stamp in the resource's gate
// row, runs your function in the same transaction and commits. Everything that the function writes is applied at most once
// per stamp, and not at all once a newer holder has claimed. [Gate.TxAtCommit] passes the gate at the end instead, so that a holder
// which freezes in the middle keeps nobody waiting.
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
// [Table.Put] and [Table.Delete] insert and delete rows, and keep the mark of a deleted row in the table fencerow_gate, under the name
// of its resource.
//
// # Triggers
//
// [CreateTriggers] has the database refuse what goes around the fence, whoever sends it, and first only record it: see [Enforcement].
//
// # Your own statements
//
// An ORM runs within [Gate.Tx]. Code that is generated from SQL with the fence in its WHERE clause takes the columns [Number], [Step] and
// [Grant], which only a stamp makes, and gives its row count to [Table.Judge]. The examples of this repository show it with sqlc, gorm and
// bun.
//
// # Frozen holders, poisoned numbers
//
// A claim that waits behind somebody's transaction ends in time, and its [BlockedError] names the sessions; Options.EndBlockers ends them.
// Options.MaxJump refuses a number that is too far above the mark; [Gate.Override] sets a mark by hand, on record.
//
// # Answers
//
// A nil error means applied. The sentinel errors of package fencerow name every other answer exactly; zero affected rows are
// never taken for stale without having looked. Errors of the driver stay reachable by errors.As. A conflict or a lost
// connection is resolved by sending the same stamp again, within the context's time; what could not be resolved is
// [fencerow.ErrAmbiguous].
//
// On MySQL and MariaDB the exact answer comes with the statement itself, and does not depend on whether the connection counts the rows
// that were found or those that were changed. Their REPEATABLE READ fixes what a transaction sees at its first read: read in [Gate.Tx],
// whose first statement is a write. It was tried on MariaDB 10.11; the statements use what MySQL 8.0 documents too.
package sqlfence
