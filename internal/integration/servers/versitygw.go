package servers

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/fencerow/fencerow/internal/integration/objectstore"
)

// S3Server is one private object store: versitygw over a folder. Its conditional writes are atomic.
type S3Server struct {
	*Node
	URL string
	dir *workDir
}

// StartS3 starts a store without buckets and waits until it answers. Call Stop after a nil error. The error is an exec.ErrNotFound if
// it is not installed.
func StartS3(ctx context.Context) (*S3Server, error) {
	// install.sh builds it there, because no distribution has it.
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, err
	}
	path, err := findProgram("versitygw", "the object store versitygw", filepath.Join(cache, "fencerow", "bin"))
	if err != nil {
		return nil, err
	}
	dir, err := newWorkDir("s3", account{})
	if err != nil {
		return nil, err
	}
	s := &S3Server{dir: dir}
	files := filepath.Join(dir.path, "files")
	if err = os.Mkdir(files, 0o755); err == nil {
		s.Node, err = startOnFreePort(ctx, func(port int) program {
			s.URL = fmt.Sprintf("http://127.0.0.1:%d", port)
			return program{
				name: "versitygw",
				path: path,
				// ETags are kept in extended attributes. With --sidecar they are in other files, and conditional writes are not atomic.
				args: []string{"--access", objectstore.Key, "--secret", objectstore.Secret, "--port", fmt.Sprintf("127.0.0.1:%d", port), "--quiet", "--health", "/healthz",
					"posix", files},
				dir:   dir.path,
				stop:  syscall.SIGTERM,
				ready: s.ready,
			}
		})
	}
	if err != nil {
		return nil, errors.Join(err, dir.remove())
	}
	return s, nil
}

func (s *S3Server) ready(ctx context.Context) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+"/healthz", nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return errors.New(response.Status)
	}
	return nil
}

// Address returns the URL.
func (s *S3Server) Address() string { return s.URL }

// Stop stops the server and removes its data.
func (s *S3Server) Stop() error { return errors.Join(s.Node.Stop(), s.dir.remove()) }

// Bucket makes a bucket of the test's own in an object store with atomic conditional writes, and returns the store's URL and the name.
func Bucket(tb testing.TB) (url, name string) {
	tb.Helper()
	url, name = address(tb, S3Env), "test-"+strings.ToLower(rand.Text())
	if _, err := objectstore.Client(url).CreateBucket(context.Background(), &s3.CreateBucketInput{Bucket: &name}); err != nil {
		tb.Fatal(err)
	}
	return url, name // it ends with the server
}
