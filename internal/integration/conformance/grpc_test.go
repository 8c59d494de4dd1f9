package conformance

import (
	"context"
	"net"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/fencerow/fencerow"
	"github.com/fencerow/fencerow/fence"
	"github.com/fencerow/fencerow/fence/grpcfence"
	"github.com/fencerow/fencerow/fence/sqlfence"
	"github.com/fencerow/fencerow/fencerowtest"
	"github.com/fencerow/fencerow/internal/integration/wire"
)

// The whole way over gRPC, as over HTTP. Requests and replies are texts, so that no code needs to be generated.
func TestGRPCFenceConforms(t *testing.T) {
	t.Parallel()
	a := newAccounts(t, databases[0])
	gate, err := sqlfence.OpenGate(t.Context(), a.db, a.dialect, &sqlfence.Options{MaxJump: 1 << 62})
	if err != nil {
		t.Fatal(err)
	}
	address := serveGRPC(t, gateFence{a, a.db, gate, false})
	open := func(address string) fencerowtest.Fence {
		conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithUnaryInterceptor(grpcfence.UnaryClient(nil)))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		return grpcFence{gateFence{accounts: a}, conn}
	}
	fencerowtest.TestFence(t, fencerowtest.FenceHarness{
		Name: "grpcfence before sqlfence.Gate on SQLite",
		Open: func(context.Context) (fencerowtest.Fence, error) { return open(address), nil },
		OpenWired: func(context.Context) (fencerowtest.Fence, fencerowtest.Wire, error) {
			w := wire.Start(t, address)
			return open(w.Addr()), w, nil
		},
		NewResource: a.insert,
		Features:    fencerowtest.Features{Claims: true, Steps: true, Sources: true, MaxJump: 1 << 62},
	})
}

// serveGRPC serves a fence and returns where.
func serveGRPC(t *testing.T, f gateFence) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer(grpc.UnaryInterceptor(grpcfence.UnaryServer))
	method := func(name string, handle func(ctx context.Context, r fencerow.Resource, value int64) (int64, error)) grpc.MethodDesc {
		return grpc.MethodDesc{MethodName: name, Handler: func(_ any, ctx context.Context, decode func(any) error, intercept grpc.UnaryServerInterceptor) (any, error) {
			in := new(wrapperspb.StringValue)
			if err := decode(in); err != nil {
				return nil, err
			}
			return intercept(ctx, in, &grpc.UnaryServerInfo{}, func(ctx context.Context, request any) (any, error) {
				amount, resource, _ := strings.Cut(request.(*wrapperspb.StringValue).Value, " ")
				value, err := strconv.ParseInt(amount, 10, 64)
				if err == nil {
					value, err = handle(ctx, fencerow.Resource(resource), value)
				}
				return wrapperspb.String(strconv.FormatInt(value, 10)), err
			})
		}}
	}
	server.RegisterService(&grpc.ServiceDesc{ServiceName: "Bank", HandlerType: (*any)(nil), Methods: []grpc.MethodDesc{
		method("Claim", func(ctx context.Context, r fencerow.Resource, _ int64) (int64, error) {
			return f.Claim(ctx, grpcfence.FromContext(ctx), r)
		}),
		method("Write", func(ctx context.Context, r fencerow.Resource, value int64) (int64, error) {
			return 0, f.Write(ctx, grpcfence.FromContext(ctx), r, value)
		}),
	}}, nil)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	return listener.Addr().String()
}

type grpcFence struct {
	direct gateFence
	conn   *grpc.ClientConn
}

func (f grpcFence) call(ctx context.Context, s fencerow.Stamp, r fencerow.Resource, method string, value int64) (int64, error) {
	reply := new(wrapperspb.StringValue)
	err := fence.Resolve(ctx, true, func() error {
		return f.conn.Invoke(grpcfence.NewContext(ctx, s), "/Bank/"+method, wrapperspb.String(strconv.FormatInt(value, 10)+" "+string(r)), reply)
	})
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(reply.Value, 10, 64)
}

func (f grpcFence) Claim(ctx context.Context, s fencerow.Stamp, r fencerow.Resource) (int64, error) {
	return f.call(ctx, s, r, "Claim", 0)
}

func (f grpcFence) Write(ctx context.Context, s fencerow.Stamp, r fencerow.Resource, value int64) error {
	_, err := f.call(ctx, s, r, "Write", value)
	return err
}

func (f grpcFence) Load(ctx context.Context, r fencerow.Resource) (value, number int64, err error) {
	return f.direct.Load(ctx, r)
}
