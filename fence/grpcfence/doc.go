// Package grpcfence is being written.
package grpcfence
