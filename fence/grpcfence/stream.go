package grpcfence

import (
	"errors"
	"io"
	"sync"

	"google.golang.org/grpc"

	"github.com/fencerow/fencerow"
)

// clientStream turns the error with which a stream ends.
type clientStream struct {
	grpc.ClientStream
	stamp    fencerow.Stamp
	observer *fencerow.Observer
	once     sync.Once
}

func (s *clientStream) RecvMsg(m any) error {
	err := s.ClientStream.RecvMsg(m)
	if err == nil {
		return nil
	}
	answer := err
	if errors.Is(err, io.EOF) {
		answer = nil
	} else {
		err = decode(err, s.Trailer())
		answer = err
	}
	s.once.Do(func() { _ = s.stamp.Settle(s.Context(), s.observer, fencerow.Write, answer) })
	return err
}
