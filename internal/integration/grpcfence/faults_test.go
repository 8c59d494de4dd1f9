package grpcfence

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/fencerow/fencerow"
	"github.com/fencerow/fencerow/fence/grpcfence"
)

// A reply that the client cannot take in is a lost one: the service has applied the call.
func TestReplyThatIsTooLargeIsAmbiguous(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var applied atomic.Int64
	server := grpc.NewServer(grpc.UnaryInterceptor(grpcfence.UnaryServer))
	server.RegisterService(&grpc.ServiceDesc{ServiceName: "Test", HandlerType: (*any)(nil),
		Methods: []grpc.MethodDesc{{MethodName: "Unary", Handler: func(_ any, ctx context.Context, decode func(any) error, intercept grpc.UnaryServerInterceptor) (any, error) {
			in := new(emptypb.Empty)
			if err := decode(in); err != nil {
				return nil, err
			}
			return intercept(ctx, in, &grpc.UnaryServerInfo{}, func(context.Context, any) (any, error) {
				applied.Add(1)
				return wrapperspb.String(strings.Repeat("x", 1000)), nil
			})
		}}},
	}, nil)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	conn := dial(t, listener.Addr().String(), grpc.WithUnaryInterceptor(grpcfence.UnaryClient(nil)), grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(100)))
	err = conn.Invoke(grpcfence.NewContext(t.Context(), stamp), "/Test/Unary", new(emptypb.Empty), new(wrapperspb.StringValue))
	if !errors.Is(err, fencerow.ErrAmbiguous) || applied.Load() != 1 {
		t.Errorf("%v, want ErrAmbiguous; applied %d times", err, applied.Load())
	}
}

// What may have been applied is never called malformed, whatever else the error is.
func TestDoubtIsNotCalledMalformed(t *testing.T) {
	address := serve(t, func(context.Context) error {
		return fmt.Errorf("%w; this attempt: %w", fencerow.ErrAmbiguous, fencerow.ErrInvalidToken)
	})
	conn := dial(t, address, grpc.WithUnaryInterceptor(grpcfence.UnaryClient(nil)))
	if err := unary(grpcfence.NewContext(t.Context(), stamp), conn); !errors.Is(err, fencerow.ErrAmbiguous) {
		t.Errorf("%v, want ErrAmbiguous", err)
	}
}

// A client stream has one reply, and no end after it: its answer is told once all the same.
func TestClientStreamIsToldOnce(t *testing.T) {
	for _, want := range []error{nil, fencerow.ErrOutOfOrder} {
		address := serve(t, func(context.Context) error { return want })
		var told []fencerow.Verdict
		observer := &fencerow.Observer{Decided: func(_ context.Context, d fencerow.Decision) { told = append(told, d.Verdict) }}
		conn := dial(t, address, grpc.WithStreamInterceptor(grpcfence.StreamClient(observer)))
		s, err := conn.NewStream(grpcfence.NewContext(t.Context(), stamp), &grpc.StreamDesc{ClientStreams: true}, "/Test/Stream")
		if err != nil {
			t.Fatal(err)
		}
		if err := s.SendMsg(new(emptypb.Empty)); err != nil {
			t.Fatal(err)
		}
		if err := s.CloseSend(); err != nil {
			t.Fatal(err)
		}
		err = s.RecvMsg(new(emptypb.Empty))
		if !errors.Is(err, want) || len(told) != 1 || told[0] != fencerow.VerdictOf(want) {
			t.Errorf("%v, want %v; the observer was told %v", err, want, told)
		}
	}
}
