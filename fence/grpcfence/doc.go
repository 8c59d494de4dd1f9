// Package grpcfence carries stamps over gRPC, so that a service refuses the calls of a superseded lock holder. It is package httpfence for
// gRPC: interceptors on the client write the stamp of the call's context into the metadata, those on the server ask for it and hand it to
// the handler by its context, and what the handler's fence says goes back as an error of package fencerow.
//
// The interceptors decide nothing. The decision belongs into the handler's own transaction, to a fence at the resource.
//
// # Answers
//
// The code of a call says what a client without this package may do; the trailer fence-problem has the verdict, and the numbers of a stale
// one, as text:
//
//	FAILED_PRECONDITION stale, out of order, unclaimed, token reused, other source, implausible, rejected
//	INVALID_ARGUMENT    malformed metadata
//	UNAUTHENTICATED     no stamp, or an unfenced row
//	NOT_FOUND           missing
//	ABORTED             conflict, send the same stamp again
//	UNAVAILABLE         outcome unknown, send the same stamp again
//	ALREADY_EXISTS      duplicate: a success of an earlier attempt
package grpcfence
