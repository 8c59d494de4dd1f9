// Package grpcfence tests stamps over gRPC against a real server: each answer, and streams.
package grpcfence

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/fencerow/fencerow"
	"github.com/fencerow/fencerow/fence/grpcfence"
	"github.com/fencerow/fencerow/fencerowtest"
)

var stamp = fencerowtest.Token("test:1", "account/ü", 1<<53+1).Stamp(7)

// serve starts a server whose calls, unary and streamed, end with what handle returns.
func serve(t *testing.T, handle func(context.Context) error) (address string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer(grpc.UnaryInterceptor(grpcfence.UnaryServer), grpc.StreamInterceptor(grpcfence.StreamServer))
	server.RegisterService(&grpc.ServiceDesc{ServiceName: "Test", HandlerType: (*any)(nil),
		Methods: []grpc.MethodDesc{{MethodName: "Unary", Handler: func(_ any, ctx context.Context, decode func(any) error, intercept grpc.UnaryServerInterceptor) (any, error) {
			in := new(emptypb.Empty)
			if err := decode(in); err != nil {
				return nil, err
			}
			return intercept(ctx, in, &grpc.UnaryServerInfo{}, func(ctx context.Context, _ any) (any, error) { return in, handle(ctx) })
		}}},
		Streams: []grpc.StreamDesc{{StreamName: "Stream", ServerStreams: true, ClientStreams: true, Handler: func(_ any, s grpc.ServerStream) error {
			if err := s.RecvMsg(new(emptypb.Empty)); err != nil {
				return err
			}
			if err := s.SendMsg(new(emptypb.Empty)); err != nil {
				return err
			}
			return handle(s.Context())
		}}},
	}, nil)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	return listener.Addr().String()
}

func dial(t *testing.T, address string, opts ...grpc.DialOption) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient(address, append(opts, grpc.WithTransportCredentials(insecure.NewCredentials()))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func unary(ctx context.Context, conn *grpc.ClientConn) error {
	return conn.Invoke(ctx, "/Test/Unary", new(emptypb.Empty), new(emptypb.Empty))
}

func stream(ctx context.Context, conn *grpc.ClientConn) error {
	s, err := conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, "/Test/Stream")
	if err != nil {
		return err
	}
	// EOF means that the stream has ended already, and RecvMsg says how.
	if err := s.SendMsg(new(emptypb.Empty)); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	for {
		if err := s.RecvMsg(new(emptypb.Empty)); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// Every answer of a fence goes to the client and comes back as what it was, in calls and in streams.
func TestEveryAnswerCrossesGRPC(t *testing.T) {
	stale := &fencerow.StaleError{Resource: "account/ü", Presented: 1<<53 + 1, Stored: 1<<62 + 1}
	for _, c := range []struct {
		err  error
		code codes.Code
		want fencerow.Verdict
	}{
		{nil, codes.OK, fencerow.Applied},
		{stale, codes.FailedPrecondition, fencerow.Stale},
		{fencerow.ErrDuplicate, codes.AlreadyExists, fencerow.Duplicate},
		{fencerow.ErrOutOfOrder, codes.FailedPrecondition, fencerow.OutOfOrder},
		{fencerow.ErrTokenReused, codes.FailedPrecondition, fencerow.TokenReused},
		{fencerow.ErrMismatch, codes.FailedPrecondition, fencerow.SourceMismatch},
		{fencerow.ErrImplausible, codes.FailedPrecondition, fencerow.Implausible},
		{fencerow.ErrUnclaimed, codes.FailedPrecondition, fencerow.Unclaimed},
		{fencerow.ErrConflict, codes.Aborted, fencerow.Conflict},
		{fencerow.ErrMissing, codes.NotFound, fencerow.Missing},
		{fencerow.ErrRejected, codes.FailedPrecondition, fencerow.Rejected},
		{fencerow.ErrUnfenced, codes.Unauthenticated, fencerow.Unfenced},
		{fmt.Errorf("%w: %w", fencerow.ErrAmbiguous, stale), codes.Unavailable, fencerow.Ambiguous},
		{status.Error(codes.PermissionDenied, "not a fence's"), codes.PermissionDenied, fencerow.Failed},
		{errors.New("not a fence's, after what it may have done"), codes.Unknown, fencerow.Ambiguous},
	} {
		address := serve(t, func(ctx context.Context) error {
			if got := grpcfence.FromContext(ctx); got != stamp {
				t.Errorf("the handler got %v", got)
			}
			return c.err
		})
		for name, call := range map[string]func(context.Context, *grpc.ClientConn) error{"unary": unary, "stream": stream} {
			t.Run(fmt.Sprintf("%v, %s", c.err, name), func(t *testing.T) {
				var told []fencerow.Verdict
				observer := &fencerow.Observer{Decided: func(_ context.Context, d fencerow.Decision) { told = append(told, d.Verdict) }}
				conn := dial(t, address, grpc.WithUnaryInterceptor(grpcfence.UnaryClient(observer)), grpc.WithStreamInterceptor(grpcfence.StreamClient(observer)))
				err := call(grpcfence.NewContext(t.Context(), stamp), conn)
				if got := fencerow.VerdictOf(err); got != c.want || status.Code(err) != c.code {
					t.Errorf("the client gets %s (%v), want %s", got, err, c.want)
				}
				if len(told) != 1 || told[0] != c.want {
					t.Errorf("the observer was told %v", told)
				}
				var back *fencerow.StaleError
				if c.want == fencerow.Stale && (!errors.As(err, &back) || *back != *stale) {
					t.Errorf("the numbers came back as %+v", back)
				}
			})
		}
	}
}

func TestCallsWithoutAStampAreRefused(t *testing.T) {
	called := false
	address := serve(t, func(context.Context) error { called = true; return nil })
	stamped := dial(t, address, grpc.WithUnaryInterceptor(grpcfence.UnaryClient(nil)), grpc.WithStreamInterceptor(grpcfence.StreamClient(nil)))
	bare := dial(t, address)
	for name, call := range map[string]func(context.Context, *grpc.ClientConn) error{"unary": unary, "stream": stream} {
		if err := call(t.Context(), stamped); !errors.Is(err, fencerow.ErrNoToken) {
			t.Errorf("%s: the interceptor: %v", name, err)
		}
		twice := metadata.AppendToOutgoingContext(grpcfence.NewContext(t.Context(), stamp), grpcfence.Key, "mine")
		if err := call(twice, stamped); !errors.Is(err, fencerow.ErrInvalidToken) {
			t.Errorf("%s: metadata that are there already: %v", name, err)
		}
		if err := call(t.Context(), bare); status.Code(err) != codes.Unauthenticated {
			t.Errorf("%s: the server: %v", name, err)
		}
		for _, values := range [][]string{{grpcfence.Key, "nonsense"}, {grpcfence.Key, "v1:5:g:s:a/b;1", grpcfence.Key, "v1:5:g:s:a/b;1"}} {
			if err := call(metadata.AppendToOutgoingContext(t.Context(), values...), bare); status.Code(err) != codes.InvalidArgument {
				t.Errorf("%s: %q: %v", name, values, err)
			}
		}
	}
	if called {
		t.Error("a handler was called")
	}
}

// A call that finds no server, or loses it, leaves the outcome unknown.
func TestLostCallsAreAmbiguous(t *testing.T) {
	conn := dial(t, "127.0.0.1:1", grpc.WithUnaryInterceptor(grpcfence.UnaryClient(nil)))
	if err := unary(grpcfence.NewContext(t.Context(), stamp), conn); !errors.Is(err, fencerow.ErrAmbiguous) {
		t.Error(err)
	}
}
