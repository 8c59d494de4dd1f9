// Package redisfence makes Redis refuse the writes of a superseded lock holder, for data that lives in Redis: the comparison, the
// recording of the stamp and your commands are one script, which nothing comes in between.
//
// Each resource has a mark, a hash of its own beside the data. All keys of a resource are in one hash slot, so that it works in a
// cluster; [Fence.Key] makes their names. Numbers are compared as decimal text, because numbers of Lua are exact up to 2^53 only.
//
// # What it promises
//
// Everything that a fence promises, as long as Redis keeps what it has acknowledged. A fail-over to a replica, and a restart without
// appendfsync always, may forget the latest writes, and with them the marks: data and marks of a resource go back together, so that no
// superseded holder gets in where its successor's writes are still there. Do not protect data of another store by it.
//
// The marks have no time to live and must not be evicted: [Open] refuses a server that may do so. There is one for every resource that was
// ever claimed; choose resources of which there is a bounded number.
//
// Redis undoes nothing. If a command that is not the first one of a write fails, because its key holds another type or the memory is used
// up, those before it stand, and the error is a [*PartialError].
//
// To keep clients from going around the fence, let their user run EVAL and EVALSHA only, by an ACL.
package redisfence
