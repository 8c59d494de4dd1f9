package s3fence

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/fencerow/fencerow"
	"github.com/fencerow/fencerow/fence"
)

// Store fences the objects of resources by manifests. It is safe for concurrent use.
type Store struct {
	client Client
	bucket string
	prefix string
	opts   Options
}

// Options of a fence. A nil *Options means the defaults.
type Options struct {
	// Prefix is the beginning of all keys, a folder of the fence's own. Default: "fencerow".
	Prefix string
	// Observer is told every answer. Default: nobody.
	Observer *fencerow.Observer
	// MaxJump is the largest step from the stored number to that of a claim, against a poisoned number. A claim above it is
	// [fencerow.ErrImplausible]. The first claim of a resource may have any number. Default: 0, any.
	MaxJump int64
	// PartSize is how many bytes of the data are held in memory at a time; more are uploaded in parts. At least 5 MiB, the minimum of S3.
	// Default: 8 MiB, for objects of up to 80 GB.
	PartSize int
	// SkipCheck has Open ask the store nothing, for stores that were probed before. Default: off.
	SkipCheck bool
}

const (
	minPartSize     = 5 << 20
	defaultPartSize = 8 << 20
)

func (o *Options) resolve() (Options, error) {
	var opts Options
	if o != nil {
		opts = *o
	}
	if opts.Prefix == "" {
		opts.Prefix = "fencerow"
	}
	if opts.PartSize == 0 {
		opts.PartSize = defaultPartSize
	}
	switch {
	case opts.PartSize < minPartSize:
		return opts, fmt.Errorf("s3fence: open: the part size is %d, S3 takes at least %d bytes", opts.PartSize, minPartSize)
	case opts.MaxJump < 0:
		return opts, fmt.Errorf("s3fence: open: MaxJump is %d, it must not be negative", opts.MaxJump)
	}
	return opts, nil
}

// Open returns the fence of a bucket, which must exist. It asks the store a few questions first, in a folder of the prefix that it cleans
// up, and refuses one that ignores conditions with [ErrUnsafeStore]. What a race would show is shown by [Probe].
func Open(ctx context.Context, client Client, bucket string, opts *Options) (*Store, error) {
	if client == nil || bucket == "" {
		return nil, errors.New("s3fence: open: the client is nil, or the bucket has no name")
	}
	resolved, err := opts.resolve()
	if err != nil {
		return nil, err
	}
	s := &Store{client: client, bucket: bucket, prefix: folder(resolved.Prefix), opts: resolved}
	if !resolved.SkipCheck {
		if err := check(ctx, client, bucket, s.prefix); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (s *Store) manifestKey(resource fencerow.Resource) string {
	return s.prefix + manifests + escape(resource) + ".json"
}

const (
	manifests = "manifest/"
	data      = "data/"
	overrides = "override/"
)

// Claim raises the mark of a resource to the stamp's token and returns its object, in one swap of the manifest. From then on no older
// holder's write is accepted. The same grant may claim again; it reads the newest object then. A resource that was never written, or
// was deleted, has an object that does not exist.
//
// The errors are [fencerow.ErrStale], [fencerow.ErrTokenReused], [fencerow.ErrMismatch], [fencerow.ErrImplausible],
// [fencerow.ErrNoToken], [fencerow.ErrUnfenced] for a manifest that does not read, [fencerow.ErrConflict], [fencerow.ErrAmbiguous], or
// a failure of the store.
func (s *Store) Claim(ctx context.Context, stamp fencerow.Stamp, resource fencerow.Resource) (*Object, error) {
	v, err := s.claim(ctx, stamp, resource)
	if err = stamp.Settle(ctx, s.opts.Observer, fencerow.Claim, err); err != nil {
		return nil, err
	}
	return s.object(v), nil
}

func (s *Store) claim(ctx context.Context, stamp fencerow.Stamp, resource fencerow.Resource) (v version, err error) {
	if err := stamp.Check(resource); err != nil {
		return v, err
	}
	token := stamp.Token()
	err = fence.Resolve(ctx, true, func() error {
		v, err = s.swap(ctx, resource, func(before version) (manifest, bool, error) {
			if err := before.mark.Claim(stamp, s.opts.MaxJump); err != nil {
				return manifest{}, false, err
			}
			return before.withMark(resource, fence.ClaimOf(token)), !before.mark.Holds(token), nil
		})
		return err
	})
	return v, err
}

// Write makes the bytes of body the object of a resource, if the grant has claimed it and this stamp was not applied before. The data is
// uploaded first, in parts if it is large, and body is read once. Then the manifest is swapped; that is the write.
//
// A nil error means applied. Otherwise readers see nothing of it, unless the error is [fencerow.ErrAmbiguous], and the error is
// [fencerow.ErrStale], [fencerow.ErrDuplicate], [fencerow.ErrOutOfOrder], [fencerow.ErrUnclaimed], [fencerow.ErrTokenReused],
// [fencerow.ErrMismatch], [fencerow.ErrNoToken], [fencerow.ErrUnfenced], [fencerow.ErrConflict], that of body, or a failure of the
// store. Data that was uploaded in vain is left to [Store.Collect].
func (s *Store) Write(ctx context.Context, stamp fencerow.Stamp, resource fencerow.Resource, body io.Reader) error {
	return stamp.Settle(ctx, s.opts.Observer, fencerow.Write, s.write(ctx, stamp, resource, body))
}

func (s *Store) write(ctx context.Context, stamp fencerow.Stamp, resource fencerow.Resource, body io.Reader) error {
	if err := stamp.Check(resource); err != nil {
		return err
	}
	// What will be refused is not uploaded.
	before, err := s.load(ctx, resource)
	if err == nil {
		err = before.mark.Write(fence.Claimed, stamp)
	}
	if err != nil {
		return err
	}
	uploaded, err := s.upload(ctx, stamp, body)
	if err != nil {
		return err
	}
	return s.apply(ctx, stamp, resource, uploaded)
}

// Delete removes the object of a resource under a stamp. The manifest stays, with the mark, and says that there is none. The errors are
// those of [Store.Write].
func (s *Store) Delete(ctx context.Context, stamp fencerow.Stamp, resource fencerow.Resource) error {
	err := stamp.Check(resource)
	if err == nil {
		err = s.apply(ctx, stamp, resource, uploaded{})
	}
	return stamp.Settle(ctx, s.opts.Observer, fencerow.Write, err)
}

// apply swaps the manifest to refer to what was uploaded.
func (s *Store) apply(ctx context.Context, stamp fencerow.Stamp, resource fencerow.Resource, u uploaded) error {
	return fence.Resolve(ctx, true, func() error {
		_, err := s.swap(ctx, resource, func(before version) (manifest, bool, error) {
			if err := before.mark.Write(fence.Claimed, stamp); err != nil {
				return manifest{}, false, err
			}
			next := before.withMark(resource, fence.WriteOf(stamp))
			next.Data, next.Size, next.SHA256 = u.key, u.size, u.sha256
			return next, true, nil
		})
		return err
	})
}
