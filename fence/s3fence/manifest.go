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

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/fencerow/fencerow"
	"github.com/fencerow/fencerow/fence"
)

// manifest is what the store keeps of a resource. Numbers are text, because readers of JSON round those above 2^53.
type manifest struct {
	Version  int       `json:"version"`
	Resource string    `json:"resource"`
	Source   string    `json:"source"`
	Number   string    `json:"number"`
	Step     string    `json:"step"`
	Grant    string    `json:"grant"`
	Write    string    `json:"write"` // another for each swap, so that no two bodies and no two ETags are the same
	Data     string    `json:"data,omitempty"`
	Size     int64     `json:"size,omitempty"`
	SHA256   string    `json:"sha256,omitempty"`
	Updated  time.Time `json:"updated"` // by the clock of the writer, for people
}

const manifestVersion = 1

// maxManifest bounds what is read of an object that should be a manifest, in bytes.
const maxManifest = 1 << 20

func (m manifest) mark() (fence.Mark, error) {
	number, numberErr := parseNumber(m.Number)
	step, stepErr := parseNumber(m.Step)
	if m.Version != manifestVersion || numberErr != nil || stepErr != nil || m.Source == "" {
		return fence.Mark{}, fmt.Errorf("%w: the manifest of %s is not one of ours, or of a later version: %+v", fencerow.ErrUnfenced, m.Resource, m)
	}
	return fence.Mark{Source: m.Source, Number: number, Step: step, GrantID: m.Grant}, nil
}

func parseNumber(text string) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err == nil && (n < 0 || strconv.FormatInt(n, 10) != text) {
		err = fmt.Errorf("%q is not a plain number", text)
	}
	return n, err
}

// withMark returns the manifest under another mark. What it refers to stays.
func (m manifest) withMark(resource fencerow.Resource, mark fence.Mark) manifest {
	m.Version, m.Resource = manifestVersion, string(resource)
	m.Source, m.Grant, m.Number, m.Step = mark.Source, mark.GrantID, strconv.FormatInt(mark.Number, 10), strconv.FormatInt(mark.Step, 10)
	return m
}

// version is a manifest as it was read.
type version struct {
	manifest
	mark fence.Mark
	etag string // "" if there is none yet
}

func (s *Store) load(ctx context.Context, resource fencerow.Resource) (version, error) {
	out, err := s.client.GetObject(ctx, &s3.GetObjectInput{Bucket: &s.bucket, Key: aws.String(s.manifestKey(resource))})
	if err != nil {
		if isMissing(err) {
			return version{}, nil
		}
		return version{}, unwritten("read the manifest of "+string(resource), err)
	}
	defer out.Body.Close()
	body, err := io.ReadAll(io.LimitReader(out.Body, maxManifest))
	if err != nil {
		return version{}, unwritten("read the manifest of "+string(resource), err)
	}
	v := version{etag: aws.ToString(out.ETag)}
	if err := json.Unmarshal(body, &v.manifest); err != nil {
		return version{}, fmt.Errorf("%w: the manifest of %s does not read: %w", fencerow.ErrUnfenced, resource, err)
	}
	v.mark, err = v.manifest.mark()
	return v, err
}

// maxRaces bounds how often a swap is tried. Each one that is lost was won by somebody else.
const maxRaces = 1000

// swap replaces the manifest by what decide returns for it, on the condition that it is still the one that was read. If decide returns
// false there is nothing to do.
func (s *Store) swap(ctx context.Context, resource fencerow.Resource, decide func(version) (manifest, bool, error)) (version, error) {
	what := "swap the manifest of " + string(resource)
	for range maxRaces {
		before, err := s.load(ctx, resource)
		if err != nil {
			return before, err
		}
		next, needed, err := decide(before)
		if err != nil || !needed {
			return before, err
		}
		next.Write, next.Updated = rand.Text(), time.Now().UTC()
		body, err := json.MarshalIndent(next, "", "  ")
		if err != nil {
			return before, fmt.Errorf("s3fence: %s: %w", what, err)
		}
		in := &s3.PutObjectInput{Bucket: &s.bucket, Key: aws.String(s.manifestKey(resource)), Body: bytes.NewReader(body), ContentType: aws.String("application/json")}
		if before.etag == "" {
			in.IfNoneMatch = aws.String("*")
		} else {
			in.IfMatch = &before.etag
		}
		if _, err = s.client.PutObject(ctx, in, once); err == nil {
			mark, err := next.mark()
			return version{manifest: next, mark: mark}, err
		}
		if !lostRace(err) {
			return before, unknown(what, err)
		}
		if ctx.Err() != nil {
			break
		}
	}
	return version{}, fmt.Errorf("%w: s3fence: %s: other writers were faster each time", fencerow.ErrConflict, what)
}
