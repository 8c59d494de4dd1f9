package grpcfence

import (
	"errors"
	"fmt"
	"strconv"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/fencerow/fencerow"
)

// The keys of the trailer.
const (
	problemKey   = "fence-problem" // the verdict, or "malformed"
	resourceKey  = "fence-resource-bin"
	presentedKey = "fence-presented"
	storedKey    = "fence-stored"
)

const malformed = "malformed"

// answers are the codes by verdict. Each has an error that a client gets back.
var answers = map[string]struct {
	code codes.Code
	err  error
}{
	string(fencerow.Stale):          {codes.FailedPrecondition, fencerow.ErrStale},
	string(fencerow.Duplicate):      {codes.AlreadyExists, fencerow.ErrDuplicate},
	string(fencerow.OutOfOrder):     {codes.FailedPrecondition, fencerow.ErrOutOfOrder},
	string(fencerow.Unclaimed):      {codes.FailedPrecondition, fencerow.ErrUnclaimed},
	string(fencerow.TokenReused):    {codes.FailedPrecondition, fencerow.ErrTokenReused},
	string(fencerow.SourceMismatch): {codes.FailedPrecondition, fencerow.ErrMismatch},
	string(fencerow.Implausible):    {codes.FailedPrecondition, fencerow.ErrImplausible},
	string(fencerow.Rejected):       {codes.FailedPrecondition, fencerow.ErrRejected},
	string(fencerow.Unfenced):       {codes.Unauthenticated, fencerow.ErrUnfenced},
	string(fencerow.Missing):        {codes.NotFound, fencerow.ErrMissing},
	string(fencerow.Conflict):       {codes.Aborted, fencerow.ErrConflict},
	string(fencerow.Ambiguous):      {codes.Unavailable, fencerow.ErrAmbiguous},
	malformed:                       {codes.InvalidArgument, fencerow.ErrInvalidToken},
}

// encode turns an error of a handler into a status and a trailer. An error that is no answer of a fence is left to gRPC, which sends its
// text.
func encode(err error) (metadata.MD, error) {
	name := string(fencerow.VerdictOf(err))
	if name == string(fencerow.Failed) && errors.Is(err, fencerow.ErrInvalidToken) {
		name = malformed
	}
	a, ours := answers[name]
	if err == nil || !ours {
		return nil, err
	}
	trailer := metadata.Pairs(problemKey, name)
	var stale *fencerow.StaleError
	if errors.As(err, &stale) {
		trailer.Append(resourceKey, string(stale.Resource))
		trailer.Append(presentedKey, strconv.FormatInt(stale.Presented, 10))
		trailer.Append(storedKey, strconv.FormatInt(stale.Stored, 10))
	}
	return trailer, status.Error(a.code, a.err.Error())
}

// decode turns the error of a call and its trailer back. A call that did not come to an answer is ambiguous.
func decode(err error, trailer metadata.MD) error {
	if err == nil {
		return nil
	}
	first := func(key string) string {
		if values := trailer.Get(key); len(values) > 0 {
			return values[0]
		}
		return ""
	}
	name := first(problemKey)
	a, ours := answers[name]
	if !ours {
		// Besides the service, gRPC itself makes errors with these codes, also after the service has applied the call:
		// RESOURCE_EXHAUSTED stands for a reply that is larger than the client takes.
		switch status.Code(err) {
		case codes.Unavailable, codes.DeadlineExceeded, codes.Canceled, codes.Unknown, codes.Internal, codes.DataLoss, codes.ResourceExhausted:
			return fmt.Errorf("%w: grpcfence: %w", fencerow.ErrAmbiguous, err)
		}
		return err
	}
	presented, presentedErr := strconv.ParseInt(first(presentedKey), 10, 64)
	stored, storedErr := strconv.ParseInt(first(storedKey), 10, 64)
	if name == string(fencerow.Stale) && errors.Join(presentedErr, storedErr) == nil {
		return fmt.Errorf("%w: %w", &fencerow.StaleError{Resource: fencerow.Resource(first(resourceKey)), Presented: presented, Stored: stored}, err)
	}
	return fmt.Errorf("%w: says the service: %w", a.err, err)
}
