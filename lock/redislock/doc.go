// Package redislock is a lock service in Redis, for those who know what it cannot promise.
//
// The number of a grant is taken from a counter by the script that sets the lock. Redis replicates behind the answer: when a master
// is lost, grants and numbers that it has given out can be lost with it and be given out again. So the guarantee is Async, and
// fencerow.New refuses it unless Options.AllowAsync is set. Set it if every write goes through a fence with a claim: then of two
// holders of one number one is accepted, and the price of a lost write is availability, not data.
//
//	client := redis.NewClient(&redis.Options{Addr: "10.0.0.1:6379"})
//	svc, err := redislock.Open(ctx, goredis.New(client), nil)
//	locker, err := fencerow.New(svc, &fencerow.Options{AllowAsync: true})
//
// # What lowers the odds
//
// The service notices that another server has taken over, or that the server was restarted, before it grants anything there: it
// raises the counter by 2^20, and above the high-water mark if Options.HighWater is set. So numbers repeat only if more than a
// million grants were lost at once, or if a master that was cut off goes on granting. Options.Replicas demands that replicas have a
// grant before it is handed out. Persist with appendonly and appendfsync always, or a crash loses the last second.
//
// [Service.Findings] says what of this the server lacks.
//
// # Waiting
//
// A release wakes one waiting process by a message, the one that has waited longest. Messages can be lost, so that every waiter
// also looks by itself from time to time. The order is not guaranteed.
//
// # Keys
//
// All begin with "{namespace}:", or in a cluster with "{namespace:n}:" for 16 n, so that the keys of a resource are on one server. The
// number of parts is fixed when the namespace is first used. There is one counter for each part and none for each resource, so that
// no key stays for a resource that is gone. Never delete the counter and never let it be evicted: a maxmemory-policy of allkeys-...
// is refused.
package redislock
