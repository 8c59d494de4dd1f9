package grpcfence

import (
	"context"
	"fmt"

	"google.golang.org/grpc/metadata"

	"github.com/fencerow/fencerow"
	"github.com/fencerow/fencerow/fence/httpfence"
)

// Key is the key of the metadata that carries a stamp, in the form of httpfence.Header.
const Key = "fence-token"

// NewContext returns a copy of ctx that carries the stamp of one operation, for the call that makes it. Take another stamp for the next
// operation, and the same one to send this one again.
func NewContext(ctx context.Context, stamp fencerow.Stamp) context.Context {
	return httpfence.NewContext(ctx, stamp)
}

// FromContext returns the stamp of a call: on the client that which [NewContext] has put there, on the server that which came with the
// call. It is the zero Stamp, which every fence refuses, if there is none.
func FromContext(ctx context.Context) fencerow.Stamp { return httpfence.FromContext(ctx) }

// outgoing returns a context whose metadata have the stamp.
func outgoing(ctx context.Context, stamp fencerow.Stamp) (context.Context, error) {
	text, err := httpfence.FormatHeader(stamp)
	if err != nil {
		return nil, fmt.Errorf("%w: give the call a context from grpcfence.NewContext", err)
	}
	if md, ok := metadata.FromOutgoingContext(ctx); ok && len(md.Get(Key)) > 0 {
		return nil, fmt.Errorf("%w: grpcfence: the call has the metadata %s already; pass the stamp on by its context", fencerow.ErrInvalidToken, Key)
	}
	return metadata.AppendToOutgoingContext(ctx, Key, text), nil
}

// incoming returns a context with the stamp of the metadata.
func incoming(ctx context.Context) (context.Context, error) {
	switch values := metadata.ValueFromIncomingContext(ctx, Key); len(values) {
	case 0:
		return nil, fmt.Errorf("%w: the call has no metadata %s", fencerow.ErrNoToken, Key)
	case 1:
		stamp, err := httpfence.ParseHeader(values[0])
		if err != nil {
			return nil, err
		}
		return NewContext(ctx, stamp), nil
	}
	return nil, fmt.Errorf("%w: the call has the metadata %s several times", fencerow.ErrInvalidToken, Key)
}
