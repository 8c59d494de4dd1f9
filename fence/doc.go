// Package fence is what fences are made of: the decision about a stamp, and the retries that end in a definite answer.
//
// An application does not need it; it uses fence/sqlfence, fence/pgxfence, fence/dynamofence, fence/s3fence, fence/redisfence or
// fence/httpfence. Whoever writes another fence gets from here what all of them have in common, so that an answer means the same
// everywhere. The decision holds only if what the resource stores is read and written in one atomic step: within a transaction that
// has locked it, or by a conditional write that fails if it has changed since. See docs/writing-a-backend.md.
package fence
