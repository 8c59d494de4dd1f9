package s3fence

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/fencerow/fencerow"
	"github.com/fencerow/fencerow/fence"
)

// Overridden is one override, as the store has recorded it.
type Overridden struct {
	fence.Override
	OldSource string
	OldNumber int64
	At        time.Time // by the clock of the one who did it
}

// storedOverride is an object beside the manifest. Numbers are text.
type storedOverride struct {
	Resource, Number, Source, By, Why, OldNumber, OldSource string
	At                                                      time.Time
}

// Override sets the mark of a resource by hand. What it refers to stays. From then on only numbers above it are admitted. Who did so and
// why is recorded in an object under the prefix, which is written first; there may be a record of an override that then failed. See
// [fence.Override] for when to do that.
func (s *Store) Override(ctx context.Context, resource fencerow.Resource, o fence.Override) error {
	if err := resource.Validate(); err != nil {
		return err
	}
	if err := o.Check(); err != nil {
		return err
	}
	before, err := s.load(ctx, resource)
	if err != nil {
		return err
	}
	if before.etag == "" && o.Source == "" {
		return fmt.Errorf("fence: override: %s has no manifest yet, say which source it is to follow", resource)
	}
	at := time.Now().UTC()
	record, err := json.MarshalIndent(storedOverride{Resource: string(resource), Number: strconv.FormatInt(o.Number, 10), Source: o.Replace(before.mark).Source,
		By: o.By, Why: o.Why, OldNumber: strconv.FormatInt(before.mark.Number, 10), OldSource: before.mark.Source, At: at}, "", "  ")
	if err != nil {
		return err
	}
	key := s.overrideFolder(resource) + at.Format("20060102T150405.000000000Z") + "-" + rand.Text()
	if _, err := s.client.PutObject(ctx, &s3.PutObjectInput{Bucket: &s.bucket, Key: &key, Body: bytes.NewReader(record)}); err != nil {
		return explain("record the override of "+string(resource), err)
	}
	return fence.Resolve(ctx, true, func() error {
		_, err := s.swap(ctx, resource, func(now version) (manifest, bool, error) {
			if now.etag != before.etag && now.mark != o.Replace(before.mark) {
				return manifest{}, false, fmt.Errorf("fence: override: somebody has written %s meanwhile, look again", resource)
			}
			return now.withMark(resource, o.Replace(now.mark)), now.mark != o.Replace(now.mark), nil
		})
		return err
	})
}

func (s *Store) overrideFolder(resource fencerow.Resource) string {
	return s.prefix + overrides + escape(resource) + "=/"
}

// Overrides returns the overrides of a resource, the oldest first.
func (s *Store) Overrides(ctx context.Context, resource fencerow.Resource) ([]Overridden, error) {
	var found []Overridden
	for key, err := range keys(ctx, s.client, s.bucket, s.overrideFolder(resource)) {
		if err != nil {
			return found, err
		}
		out, err := s.client.GetObject(ctx, &s3.GetObjectInput{Bucket: &s.bucket, Key: key.Key})
		if err != nil {
			return found, explain("read "+*key.Key, err)
		}
		body, err := io.ReadAll(io.LimitReader(out.Body, maxManifest))
		_ = out.Body.Close()
		var o storedOverride
		if err == nil {
			err = json.Unmarshal(body, &o)
		}
		number, numberErr := parseNumber(o.Number)
		old, oldErr := parseNumber(o.OldNumber)
		if err != nil || numberErr != nil || oldErr != nil {
			return found, fmt.Errorf("s3fence: the override %s does not read: %q", *key.Key, body)
		}
		found = append(found, Overridden{Override: fence.Override{Number: number, Source: o.Source, By: o.By, Why: o.Why}, OldSource: o.OldSource, OldNumber: old, At: o.At})
	}
	return found, nil
}
