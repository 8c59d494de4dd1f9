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
	many     bool // whether replies go on until an end
	once     sync.Once
}

func (s *clientStream) RecvMsg(m any) error {
	err := s.ClientStream.RecvMsg(m)
	if err == nil {
		if !s.many { // the one reply is there, and nobody asks for an end
			s.settle(nil)
		}
		return nil
	}
	answer := err
	if errors.Is(err, io.EOF) {
		answer = nil
	} else {
		err = decode(err, s.Trailer())
		answer = err
	}
	s.settle(answer)
	return err
}

func (s *clientStream) settle(answer error) {
	s.once.Do(func() { _ = s.stamp.Settle(s.Context(), s.observer, fencerow.Write, answer) })
}
