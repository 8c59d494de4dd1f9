package objectstore

import (
	"net/http/httptest"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// Key and Secret are the credentials of every store of the tests.
const (
	Key    = "ak"
	Secret = "sksksksksk"
)

// Serve serves the store until the test ends, and returns its URL.
func (s *Store) Serve(tb testing.TB) string {
	tb.Helper()
	server := httptest.NewServer(s)
	tb.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return server.URL
}

// Client returns a client for a store at a URL.
func Client(url string, change ...func(*s3.Options)) *s3.Client {
	return s3.New(s3.Options{
		BaseEndpoint: aws.String(url), Region: "us-east-1", UsePathStyle: true,
		Credentials: credentials.NewStaticCredentialsProvider(Key, Secret, ""),
	}, change...)
}
