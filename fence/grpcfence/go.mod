module github.com/fencerow/fencerow/fence/grpcfence

go 1.25.0

require (
	github.com/fencerow/fencerow v0.1.0
	google.golang.org/grpc v1.83.2
)
