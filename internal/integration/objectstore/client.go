package objectstore

import (
	"net/http/httptest"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// Serve serves the store until the test ends, and returns a client for it.
func (s *Store) Serve(tb testing.TB) *s3.Client {
	tb.Helper()
	server := httptest.NewServer(s)
	server.Config.ErrorLog = nil
	tb.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return Client(server.URL, "ak", "sksksksksk")
}

// Client returns a client for a server at a URL.
func Client(url, key, secret string) *s3.Client {
	return s3.New(s3.Options{
		BaseEndpoint: aws.String(url), Region: "us-east-1", UsePathStyle: true,
		Credentials: credentials.NewStaticCredentialsProvider(key, secret, ""),
	})
}
