// Package sqllock is a lock service in a table of a database that you already have, through database/sql.
//
// The number of a grant is one more than the number in the resource's row, taken while that row is locked, in the same
// statement that grants. Rows are never deleted, so that no number is issued again.
//
// The caller brings the database handle and its driver:
//
//	db, err := sql.Open("sqlite", "file:locks.db?_txlock=immediate&_pragma=busy_timeout(5000)"+
//		"&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)")
//	svc, err := sqllock.Open(ctx, db, sqllock.SQLite)
//	locker, err := fencerow.New(svc, nil)
//
// # Postgres
//
// The server's clock measures the leases, read behind the wait for the row's lock. Each operation is one statement that keeps nothing
// in the session, so a connection pooler may stand in between. A session with synchronous_commit off is refused, because a crash of the
// server could lose a commit and a number would be issued twice. The promotion of an asynchronous standby and a restore take numbers
// back as well: raise the counters above the resources' marks with Seed afterwards. A stepped clock of the server ends leases early or
// late; the fence does not depend on it.
//
// Where all processes open the service with [OpenListening] and a connection for it, releases wake waiters, and polling is only the
// floor beneath that.
//
// # MySQL and MariaDB
//
// The server's clock measures the leases, as of the start of a statement, and each operation is one statement. A server whose commits
// could be lost in a crash is refused: innodb_flush_log_at_trx_commit other than 1, or a binary log with sync_binlog other than 1. A
// replica that is promoted, and a restore, take numbers back. Names are compared byte for byte, whatever the collation.
//
// # SQLite
//
// One host only: SQLite's locks and the clock that measures the leases are those of one kernel. A file on a network file
// system that can be recognized is refused. The file must be on disk and its connections must use synchronous=FULL, because
// a commit lost in a power failure is a number issued twice. On Linux leases are measured by the boot-time clock: a step of
// the wall clock changes nothing, a suspended machine goes on counting, and a reboot ends every lease, as it has ended every
// process. On other systems the wall clock measures them, and setting it ends leases early or late.
//
// Waiting is polling, as on MySQL. Processes that wait for the same resource are not served in order.
//
// Restoring or copying the file takes its numbers back; the source in it stays the same, so that nobody notices. Raise the
// counters above the resources' marks with Seed after a restore.
package sqllock
