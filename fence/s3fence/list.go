package s3fence

import (
	"context"
	"iter"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/fencerow/fencerow"
)

// keys yields the objects under a prefix, in the order of their keys.
func keys(ctx context.Context, client Client, bucket, prefix string) iter.Seq2[types.Object, error] {
	return func(yield func(types.Object, error) bool) {
		in := &s3.ListObjectsV2Input{Bucket: &bucket, Prefix: &prefix}
		for {
			page, err := client.ListObjectsV2(ctx, in)
			if err != nil {
				yield(types.Object{}, unwritten("list "+prefix, err))
				return
			}
			for _, object := range page.Contents {
				if !yield(object, nil) {
					return
				}
			}
			if page.NextContinuationToken == nil {
				return
			}
			in.ContinuationToken = page.NextContinuationToken
		}
	}
}

// List yields every resource that was ever claimed, those without an object included, in the order of their keys. It ends with the first
// error.
func (s *Store) List(ctx context.Context) iter.Seq2[*Object, error] {
	return func(yield func(*Object, error) bool) {
		for key, err := range keys(ctx, s.client, s.bucket, s.prefix+manifests) {
			if err != nil {
				yield(nil, err)
				return
			}
			resource, err := unescape(strings.TrimSuffix(strings.TrimPrefix(*key.Key, s.prefix+manifests), ".json"))
			if err == nil {
				var v version
				if v, err = s.load(ctx, resource); err == nil {
					if !yield(s.object(v), nil) {
						return
					}
					continue
				}
			}
			yield(nil, err)
			return
		}
	}
}

// Collect deletes data that no manifest refers to and no write can come to refer to, if it was stored longer ago than the age, by the
// store's clock. Give readers that much time. It returns how many objects it has deleted, also beside an error. Manifests are never
// deleted, and neither is data of a write that is still under way: only what is at or below the mark of its resource goes.
func (s *Store) Collect(ctx context.Context, age time.Duration) (deleted int, err error) {
	var resource fencerow.Resource
	var current version
	// The list is in the order of keys, so that the data of a resource comes in one piece.
	for key, err := range keys(ctx, s.client, s.bucket, s.prefix+data) {
		if err != nil {
			return deleted, err
		}
		if key.LastModified == nil || time.Since(*key.LastModified) < age {
			continue
		}
		owner, number, step, ok := s.parseDataKey(*key.Key)
		if !ok {
			continue // not ours
		}
		if owner != resource || current.etag == "" {
			resource = owner
			if current, err = s.load(ctx, owner); err != nil {
				return deleted, err
			}
		}
		mark := current.mark
		passed := number < mark.Number || number == mark.Number && step <= mark.Step
		if current.etag == "" || *key.Key == current.Data || !passed {
			continue
		}
		if _, err := s.client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &s.bucket, Key: key.Key}); err != nil {
			return deleted, explain("delete "+*key.Key, err)
		}
		deleted++
	}
	return deleted, nil
}

// parseDataKey reads what dataKey wrote.
func (s *Store) parseDataKey(key string) (resource fencerow.Resource, number, step int64, ok bool) {
	name, position, found := strings.Cut(strings.TrimPrefix(key, s.prefix+data), "=/")
	before, after, cut := strings.Cut(position, "/")
	padded, _, dash := strings.Cut(after, "-")
	if !found || !cut || !dash {
		return "", 0, 0, false
	}
	resource, nameErr := unescape(name)
	number, numberErr := unpad(before)
	step, stepErr := unpad(padded)
	return resource, number, step, nameErr == nil && numberErr == nil && stepErr == nil
}
