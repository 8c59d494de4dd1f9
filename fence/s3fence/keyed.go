package s3fence

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/fencerow/fencerow"
	"github.com/fencerow/fencerow/fence"
)

// Keyed fences objects by the token in their key, for stores without conditional writes: each write has a key that begins with its number
// and step, padded with zeros, and readers take the highest. It needs PUT, GET and LIST, and a store whose LIST shows at once what was
// PUT, as S3 does since 2020; [Store] is the better choice wherever conditions hold.
//
// What it promises is weaker than what [Store] does:
//
//   - The store refuses nothing. An older holder's late write lands under a key that nobody reads, and stays there until
//     [Keyed.Collect].
//   - Check and write are two requests. A holder that was overtaken between them is told [fencerow.ErrAmbiguous] and stale, because its
//     write may have been taken over by the newer holder's claim, or not.
//   - A claim publishes the current object again under the new number, and does so again until nothing has come in between. Readers may
//     see the object as it was before such a write for a moment.
//   - The same stamp that is sent by two goroutines at once is written twice, with the same key.
//   - The source of a token is compared by the claim only.
//
// Objects are held in memory. It is safe for concurrent use.
type Keyed struct {
	client Client
	bucket string
	prefix string
	opts   Options
}

// OpenKeyed returns the fence of a bucket, which must exist. Of the options PartSize and SkipCheck do not matter.
func OpenKeyed(client Client, bucket string, opts *Options) (*Keyed, error) {
	if client == nil || bucket == "" {
		return nil, errors.New("s3fence: open: the client is nil, or the bucket has no name")
	}
	resolved, err := opts.resolve()
	if err != nil {
		return nil, err
	}
	return &Keyed{client: client, bucket: bucket, prefix: folder(resolved.Prefix) + "keyed/", opts: resolved}, nil
}

// sourceMeta is the user metadata that holds the source of the token, and digestMeta the digest of the data.
const (
	sourceMeta = "fence-source"
	digestMeta = "fence-sha256"
)

// position is one object of a resource, as its key says.
type position struct {
	mark fence.Mark
	key  string
	at   time.Time
}

func (k *Keyed) folder(resource fencerow.Resource) string { return k.prefix + escape(resource) + "=/" }

func (k *Keyed) key(stamp fencerow.Stamp, step int64) string {
	token := stamp.Token()
	return k.folder(token.Resource()) + pad(token.Number()) + "/" + pad(step) + "-" + escape(fencerow.Resource(token.GrantID()))
}

// positions returns the objects of a resource, the highest last. Numbers are compared as numbers.
func (k *Keyed) positions(ctx context.Context, resource fencerow.Resource) ([]position, error) {
	var found []position
	in := k.folder(resource)
	for object, err := range keys(ctx, k.client, k.bucket, in) {
		if err != nil {
			return nil, err
		}
		number, rest, _ := strings.Cut(strings.TrimPrefix(*object.Key, in), "/")
		step, grant, _ := strings.Cut(rest, "-")
		p := position{key: *object.Key, at: aws.ToTime(object.LastModified)}
		var numberErr, stepErr, grantErr error
		var name fencerow.Resource
		p.mark.Number, numberErr = unpad(number)
		p.mark.Step, stepErr = unpad(step)
		name, grantErr = unescape(grant)
		p.mark.GrantID = string(name)
		if errors.Join(numberErr, stepErr, grantErr) != nil {
			continue // not ours
		}
		found = append(found, p)
	}
	return found, nil // padded numbers are in the order of their keys
}

// highest is the last position, or the zero one.
func highest(positions []position) position {
	if len(positions) == 0 {
		return position{}
	}
	return positions[len(positions)-1]
}

// KeyedObject is what a resource holds.
type KeyedObject struct {
	Mark   fence.Mark
	Exists bool
	Data   []byte
}

// Read returns the object of a resource for readers, that of the highest number. What it returns may be superseded by the time it is
// used; a holder reads by [Keyed.Claim]. A resource that was never claimed is [fencerow.ErrMissing].
func (k *Keyed) Read(ctx context.Context, resource fencerow.Resource) (KeyedObject, error) {
	if err := resource.Validate(); err != nil {
		return KeyedObject{}, err
	}
	for range maxRaces {
		positions, err := k.positions(ctx, resource)
		if err != nil {
			return KeyedObject{}, err
		}
		if len(positions) == 0 {
			return KeyedObject{}, fmt.Errorf("%w: %s was never claimed", fencerow.ErrMissing, resource)
		}
		object, err := k.get(ctx, highest(positions))
		if !errors.Is(err, fencerow.ErrMissing) { // else it was collected meanwhile
			return object, err
		}
	}
	return KeyedObject{}, fmt.Errorf("%w: s3fence: read %s: it changes too fast", fencerow.ErrConflict, resource)
}

func (k *Keyed) get(ctx context.Context, p position) (KeyedObject, error) {
	out, err := k.client.GetObject(ctx, &s3.GetObjectInput{Bucket: &k.bucket, Key: &p.key})
	if err != nil {
		if isMissing(err) {
			return KeyedObject{}, fmt.Errorf("%w: %s: %w", fencerow.ErrMissing, p.key, err)
		}
		return KeyedObject{}, unwritten("read "+p.key, err)
	}
	defer out.Body.Close()
	data, err := io.ReadAll(out.Body)
	if err != nil {
		return KeyedObject{}, unwritten("read "+p.key, err)
	}
	digest, exists := out.Metadata[digestMeta]
	if exists && digest != hexSum(data) {
		return KeyedObject{}, fmt.Errorf("s3fence: the data of %s is not what was written", p.key)
	}
	p.mark.Source = out.Metadata[sourceMeta]
	return KeyedObject{Mark: p.mark, Exists: exists, Data: data}, nil
}

func hexSum(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// put writes one object under a key of the grant's own. The SDK may repeat it, which changes nothing.
func (k *Keyed) put(ctx context.Context, stamp fencerow.Stamp, step int64, object KeyedObject) error {
	meta := map[string]string{sourceMeta: stamp.Token().Source()}
	if object.Exists {
		meta[digestMeta] = hexSum(object.Data)
	}
	key := k.key(stamp, step)
	_, err := k.client.PutObject(ctx, &s3.PutObjectInput{Bucket: &k.bucket, Key: &key, Body: bytes.NewReader(object.Data), Metadata: meta})
	if err != nil {
		return unknown("write "+key, err)
	}
	return nil
}

// Claim publishes the object of a resource again under the stamp's number and returns it. From then on no older holder's write is read.
// The same grant may claim again. The errors are those of [Store.Claim].
func (k *Keyed) Claim(ctx context.Context, stamp fencerow.Stamp, resource fencerow.Resource) (KeyedObject, error) {
	var object KeyedObject
	err := stamp.Check(resource)
	if err == nil {
		err = fence.Resolve(ctx, true, func() error { object, err = k.claim(ctx, stamp, resource); return err })
	}
	return object, stamp.Settle(ctx, k.opts.Observer, fencerow.Claim, err)
}

func (k *Keyed) claim(ctx context.Context, stamp fencerow.Stamp, resource fencerow.Resource) (KeyedObject, error) {
	token := stamp.Token()
	positions, err := k.positions(ctx, resource)
	if err != nil {
		return KeyedObject{}, err
	}
	for range maxRaces {
		before := below(positions, token.Number())
		own := highest(positions)
		var object KeyedObject
		if own.key != "" {
			if object, err = k.get(ctx, own); err != nil {
				return object, err
			}
		}
		if err := object.Mark.Claim(stamp, k.opts.MaxJump); err != nil {
			return KeyedObject{}, err
		}
		if object.Mark.Holds(token) && object.Mark.Step > 0 {
			return object, nil // it has written since
		}
		// What the one before has written last, or nothing.
		if object.Mark.Holds(token) && before.key != "" {
			if object, err = k.get(ctx, before); err != nil && !errors.Is(err, fencerow.ErrMissing) {
				return object, err
			} else if err != nil {
				object, err = k.get(ctx, own) // it was collected, so that nobody writes there any more
				if err != nil {
					return object, err
				}
			}
		}
		if err := k.put(ctx, stamp, 0, object); err != nil {
			return KeyedObject{}, err
		}
		if positions, err = k.positions(ctx, resource); err != nil {
			return KeyedObject{}, err
		}
		if err := k.overtaken(positions, stamp); err != nil {
			return KeyedObject{}, err
		}
		if below(positions, token.Number()).key == before.key {
			object.Mark = fence.ClaimOf(token)
			return object, nil
		}
	}
	return KeyedObject{}, fmt.Errorf("%w: s3fence: claim %s: an older holder writes too fast", fencerow.ErrConflict, resource)
}

// below returns the highest position under a smaller number.
func below(positions []position, number int64) position {
	var found position
	for _, p := range positions {
		if p.mark.Number < number {
			found = p
		}
	}
	return found
}

// overtaken returns why what was written is not what readers take, or nil.
func (k *Keyed) overtaken(positions []position, stamp fencerow.Stamp) error {
	token := stamp.Token()
	for _, p := range positions {
		switch {
		case p.mark.Number > token.Number():
			return &fencerow.StaleError{Resource: token.Resource(), Presented: token.Number(), Stored: highest(positions).mark.Number}
		case p.mark.Number == token.Number() && p.mark.GrantID != token.GrantID():
			return fmt.Errorf("%w: number %d of %s belongs to the grant %s as well; seed the lock service above it",
				fencerow.ErrTokenReused, token.Number(), token.Resource(), p.mark.GrantID)
		}
	}
	return nil
}

// Write makes data the object of a resource, if the grant has claimed it and this stamp was not applied before. The errors are those of
// [Store.Write]; one that is both ambiguous and stale comes from a newer holder that has claimed meanwhile.
func (k *Keyed) Write(ctx context.Context, stamp fencerow.Stamp, resource fencerow.Resource, data []byte) error {
	return k.write(ctx, stamp, resource, KeyedObject{Exists: true, Data: data})
}

// Delete removes the object of a resource under a stamp: an empty object says that there is none. The errors are those of [Keyed.Write].
func (k *Keyed) Delete(ctx context.Context, stamp fencerow.Stamp, resource fencerow.Resource) error {
	return k.write(ctx, stamp, resource, KeyedObject{})
}

func (k *Keyed) write(ctx context.Context, stamp fencerow.Stamp, resource fencerow.Resource, object KeyedObject) error {
	err := stamp.Check(resource)
	if err == nil {
		err = fence.Resolve(ctx, true, func() error { return k.attempt(ctx, stamp, resource, object) })
	}
	return stamp.Settle(ctx, k.opts.Observer, fencerow.Write, err)
}

func (k *Keyed) attempt(ctx context.Context, stamp fencerow.Stamp, resource fencerow.Resource, object KeyedObject) error {
	positions, err := k.positions(ctx, resource)
	if err != nil {
		return err
	}
	if err := k.overtaken(positions, stamp); err != nil {
		return err
	}
	if err := highest(positions).mark.Write(fence.Claimed, stamp); err != nil {
		return err
	}
	if err := k.put(ctx, stamp, stamp.Step(), object); err != nil {
		return err
	}
	if positions, err = k.positions(ctx, resource); err != nil {
		return fmt.Errorf("%w: s3fence: %s was written, and whether it is read is unknown: %w", fencerow.ErrAmbiguous, stamp, err)
	}
	if err := k.overtaken(positions, stamp); err != nil {
		return fence.OfCaller(fmt.Errorf("%w: a newer holder has claimed meanwhile, and may have taken the write over: %w", fencerow.ErrAmbiguous, err))
	}
	return nil
}

// Collect deletes the objects below the highest of each resource that were stored longer ago than the age, by the store's clock. Give
// readers that much time. It returns how many it has deleted, also beside an error. The highest, which is the mark, stays.
func (k *Keyed) Collect(ctx context.Context, age time.Duration) (deleted int, err error) {
	var before *position
	var owner string
	for object, err := range keys(ctx, k.client, k.bucket, k.prefix) {
		if err != nil {
			return deleted, err
		}
		folder, _, found := strings.Cut(*object.Key, "=/")
		if !found {
			continue
		}
		if before != nil && owner == folder && time.Since(before.at) >= age {
			if _, err := k.client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &k.bucket, Key: &before.key}); err != nil {
				return deleted, explain("delete "+before.key, err)
			}
			deleted++
		}
		owner, before = folder, &position{key: *object.Key, at: aws.ToTime(object.LastModified)}
	}
	return deleted, nil
}
