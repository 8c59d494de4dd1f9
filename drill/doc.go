// Package drill proves the fence with a frozen process.
//
// A drill starts worker A as a real child process under a short lease, lets it read and decide, and freezes it with SIGSTOP
// before it writes. When the lock service has ended A's lease, worker B is granted the same account and does the same job. Then A
// is thawed with SIGCONT, and its first act is the write that it had decided on. What counts is what the database holds in the
// end: one debit, made under the newest token.
//
// It is run in three orders, because the dangerous moment is not only after B has written. For contrast each order is run again
// without a fence, and with a check of its own lease by the worker, which shows the damage that they really do.
//
// The caller brings the SQLite driver and the command line by which its own program becomes a worker. Freezing needs a Unix.
package drill
