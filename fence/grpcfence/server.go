package grpcfence

import (
	"context"

	"google.golang.org/grpc"
)

// UnaryServer is an interceptor that refuses calls without a stamp, and hands the stamp of the others to the handler by its context, see
// [FromContext]. What the handler's fence says goes back to the client.
func UnaryServer(ctx context.Context, request any, _ *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	stamped, err := incoming(ctx)
	var reply any
	if err == nil {
		reply, err = handle(stamped, request)
	}
	trailer, err := encode(err)
	if trailer != nil {
		_ = grpc.SetTrailer(ctx, trailer) // fails only outside of a call
	}
	return reply, err
}

// StreamServer is [UnaryServer] for streams.
func StreamServer(server any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
	stamped, err := incoming(stream.Context())
	if err == nil {
		err = handle(server, &serverStream{stream, stamped})
	}
	trailer, err := encode(err)
	if trailer != nil {
		stream.SetTrailer(trailer)
	}
	return err
}

// serverStream is a stream whose context carries the stamp.
type serverStream struct {
	grpc.ServerStream
	ctx context.Context
}

func (s *serverStream) Context() context.Context { return s.ctx }
