// Package servers gives tests private servers that leave nothing behind: PostgreSQL, MariaDB, etcd, ZooKeeper,
// Redis, an object store and dynalite, an emulator of DynamoDB.
//
// A test asks for a database of its own, or for the address of a server that it shares:
//
//	db := servers.Postgres(t)
//	endpoint := servers.Etcd(t)
//
// The server behind it is the one that an environment variable names; "make test" starts one of each kind for all packages that
// way, with cmd/withservers. Without the variable the test binary starts a server itself, which needs this in the package:
//
//	func TestMain(m *testing.M) { servers.Main(m) }
//
// A test that kills, freezes or restarts a server, or needs a cluster, starts its own with Start.
//
// A missing server program skips the test, or fails it when CI is set: a skipped test must not look like a passed one there.
//
// Servers listen on a free port of 127.0.0.1 and keep their data in a temporary folder. On Linux they are killed with the
// process that started them, however it ends.
package servers
