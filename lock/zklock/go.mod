module github.com/fencerow/fencerow/lock/zklock

go 1.25.0

require (
	github.com/fencerow/fencerow v0.1.0
	github.com/go-zookeeper/zk v1.0.4
)
