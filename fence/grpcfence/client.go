package grpcfence

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/fencerow/fencerow"
)

// UnaryClient returns an interceptor that writes the stamp of each call into its metadata, and refuses a call whose context carries none
// with [fencerow.ErrNoToken], before it is sent. The error of a call is that of the service's fence; a call whose answer was lost is
// [fencerow.ErrAmbiguous]: send the same stamp again. A stale answer cancels the lease that issued the stamp. The observer, which may be
// nil, is told every answer.
func UnaryClient(observer *fencerow.Observer) grpc.UnaryClientInterceptor {
	return func(ctx context.Context, method string, request, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		stamp := FromContext(ctx)
		stamped, err := outgoing(ctx, stamp)
		if err != nil {
			return err
		}
		var trailer metadata.MD
		err = invoke(stamped, method, request, reply, conn, append(opts, grpc.Trailer(&trailer))...)
		return stamp.Settle(ctx, observer, fencerow.Write, decode(err, trailer))
	}
}

// StreamClient is [UnaryClient] for streams. All messages of a stream are one operation under one stamp; its answer is the error with which
// the stream ends. The answer of a stream that is not received to its end is told to nobody.
func StreamClient(observer *fencerow.Observer) grpc.StreamClientInterceptor {
	return func(ctx context.Context, desc *grpc.StreamDesc, conn *grpc.ClientConn, method string, open grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
		stamp := FromContext(ctx)
		stamped, err := outgoing(ctx, stamp)
		if err != nil {
			return nil, err
		}
		stream, err := open(stamped, desc, conn, method, opts...)
		if err != nil {
			return nil, stamp.Settle(ctx, observer, fencerow.Write, decode(err, nil))
		}
		return &clientStream{ClientStream: stream, stamp: stamp, observer: observer, many: desc.ServerStreams}, nil
	}
}
