// Package etcdlock is a lock service in etcd: first come first served, with the revision of the cluster as the number.
//
// The number of a grant is the create revision of the key that this acquire put into the resource's queue, plus the resource's
// base, which is 0 until somebody calls Seed. Revisions are agreed by a majority and never repeat, keys are granted in the order of
// their revisions, and the number can be read again from the key. Numbers of one resource have gaps.
//
// The caller brings the client:
//
//	client, err := clientv3.New(clientv3.Config{Endpoints: []string{"10.0.0.1:2379"}, DialTimeout: 5 * time.Second})
//	svc, err := etcdlock.Open(ctx, client, nil)
//	locker, err := fencerow.New(svc, nil)
//
// An acquire of a free resource is one request, and so is a release. A waiter watches the key before its own and its own; it is
// told when its own is gone instead of being granted a lock that nobody sees.
//
// # Leases
//
// All grants of one [Service] with the same TTL share one etcd lease, so that a thousand locks cost one keep-alive and not a
// thousand. A process that dies or is frozen stops to keep it alive, and all its keys go. A grant that is not renewed while the
// process lives is ended by the Service itself when its TTL is over. After a request whose outcome is unknown later grants go
// on a new etcd lease, renewed ones follow, and the old one is left to expire with whatever the lost request may have put on it.
//
// etcd counts in whole seconds and has a smallest TTL, one and a half election time-outs. It restarts the time of a lease when a
// new leader is elected, so that a dead holder's lock can last longer than its TTL, never shorter.
//
// # What takes numbers back
//
// Restoring a snapshot, or a cluster made anew. Restore with "etcdutl snapshot restore --bump-revision 1000000000
// --mark-compacted", or raise the resources with Seed; a high-water store in fencerow.Options notices when it was forgotten. The
// fence at the resource refuses a number that it has seen from another grant.
//
// # Access
//
// The client's user needs a role with readwrite permission on the prefix of the namespace, "fencerow/" by default.
package etcdlock
