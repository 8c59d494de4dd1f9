package s3fence

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/fencerow/fencerow"
	"github.com/fencerow/fencerow/fence"
)

// Object is what a resource holds, as one version of its manifest says.
type Object struct {
	Resource fencerow.Resource
	Mark     fence.Mark
	Exists   bool
	Size     int64  // in bytes
	SHA256   string // of the data, in hexadecimal

	key   string
	store *Store
}

func (s *Store) object(v version) *Object {
	return &Object{Resource: fencerow.Resource(v.Resource), Mark: v.mark, Exists: v.Data != "", Size: v.Size, SHA256: v.SHA256, key: v.Data, store: s}
}

// Read returns the object of a resource for readers. What it returns may be superseded by the time it is used; a holder reads by
// [Store.Claim]. A resource that was never claimed is [fencerow.ErrMissing].
func (s *Store) Read(ctx context.Context, resource fencerow.Resource) (*Object, error) {
	if err := resource.Validate(); err != nil {
		return nil, err
	}
	v, err := s.load(ctx, resource)
	if err != nil {
		return nil, err
	}
	if v.etag == "" {
		return nil, fmt.Errorf("%w: %s has no manifest", fencerow.ErrMissing, resource)
	}
	return s.object(v), nil
}

// Open returns the data. Its size and digest are compared while it is read; the last Read returns an error if they differ. Data that was
// replaced and collected since is [fencerow.ErrMissing]: read the resource again.
func (o *Object) Open(ctx context.Context) (io.ReadCloser, error) {
	what := "read the data of " + string(o.Resource)
	if !o.Exists {
		return nil, fmt.Errorf("%w: %s holds no object", fencerow.ErrMissing, o.Resource)
	}
	out, err := o.store.client.GetObject(ctx, &s3.GetObjectInput{Bucket: &o.store.bucket, Key: &o.key})
	switch {
	case err != nil && isMissing(err):
		return nil, fmt.Errorf("%w: %s has been replaced since, and its data was collected; read it again: %w", fencerow.ErrMissing, o.Resource, err)
	case err != nil:
		return nil, explain(what, err)
	}
	return &verified{body: out.Body, object: o, sum: sha256.New()}, nil
}

// ReadAll returns the data in memory.
func (o *Object) ReadAll(ctx context.Context) ([]byte, error) {
	body, err := o.Open(ctx)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	return io.ReadAll(body)
}

// verified compares what was read with the manifest.
type verified struct {
	body   io.ReadCloser
	object *Object
	sum    hash.Hash
	size   int64
}

func (v *verified) Read(p []byte) (int, error) {
	n, err := v.body.Read(p)
	v.sum.Write(p[:n])
	v.size += int64(n)
	if err == io.EOF && (v.size != v.object.Size || hex.EncodeToString(v.sum.Sum(nil)) != v.object.SHA256) {
		return n, fmt.Errorf("s3fence: the data of %s is not what its manifest says: %d bytes were read, of %d, or others", v.object.Resource, v.size, v.object.Size)
	}
	return n, err
}

func (v *verified) Close() error { return v.body.Close() }
