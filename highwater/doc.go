// Package highwater keeps the highest number that was granted of each resource outside of the lock service, so that a service that
// has lost state is noticed before its old numbers do harm.
//
//	marks, err := highwater.OpenTable(ctx, db, highwater.Postgres) // in the database of the protected data
//	locker, err := fencerow.New(svc, &fencerow.Options{HighWater: marks})
//
// [OpenTable] keeps the marks in a table beside the protected data, which is the best place: it is backed up and restored with
// them. [OpenFile] keeps them in a file of one host, for a few thousand resources. etcdlock.OpenHighWater keeps them in etcd. Do not
// keep them in what they watch over.
package highwater
