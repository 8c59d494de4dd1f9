// Package zklock is a lock service in ZooKeeper: first come first served, with the ensemble's transaction id as the number.
//
// The number of a grant is the zxid of the transaction that created its node, plus the resource's base, which is 0 until somebody
// calls Seed. Zxids are agreed by a majority and never repeat within an ensemble, and one request creates the node and returns
// its zxid. Numbers of one resource have large gaps. Sequence numbers of nodes only order the queue; they are never a number,
// because they start again.
//
//	svc, err := zklock.Open(ctx, []string{"10.0.0.1:2181", "10.0.0.2:2181"}, nil)
//	locker, err := fencerow.New(svc, &fencerow.Options{TTL: 30 * time.Second})
//
// An acquire of a free resource is one request, and so is a release. A waiter watches the one before it and its own node.
//
// # Sessions
//
// ZooKeeper has no leases, it has sessions: all grants of a [Service] live in one, and end with it when the ensemble has not heard
// from the process for the session timeout. So a TTL shorter than the session timeout is refused, and a grant's TTL is at most two
// thirds of it, however long a lease was asked for: a holder stops its work before the session can have ended. The Locker renews
// it. A grant that is not renewed while the process lives is ended by the Service itself when the TTL that was asked for is over.
//
// A lost connection is not the end of a session. Nodes carry the session's id, so that what is left of an earlier session is
// not taken for a grant of the present one.
//
// The Service owns its connection, because it must know which session a request was sent in and which timeout the ensemble has
// agreed to. Close drops the connection and leaves the session to time out, since code may still run under its grants.
//
// # What takes numbers back
//
// Wiping or restoring the data directories. Raise the resources with Seed then; a high-water store in fencerow.Options notices
// when it was forgotten. The fence at the resource refuses a number that it has seen from another grant.
//
// # What stays
//
// Three persistent nodes for each resource that was ever locked. They hold the base and the order of the queue: do not delete them.
package zklock
