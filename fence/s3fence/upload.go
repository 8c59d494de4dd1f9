package s3fence

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/fencerow/fencerow"
)

// uploaded is data that no manifest refers to yet. The zero value stands for none.
type uploaded struct {
	key    string
	size   int64
	sha256 string
}

// dataKey returns a key that nobody has used: it begins with the position, so that [Store.Collect] knows what it may belong to.
func (s *Store) dataKey(stamp fencerow.Stamp) string {
	token := stamp.Token()
	return s.dataFolder(token.Resource()) + pad(token.Number()) + "/" + pad(stamp.Step()) + "-" + rand.Text()
}

func (s *Store) dataFolder(resource fencerow.Resource) string {
	return s.prefix + data + escape(resource) + "=/"
}

// upload stores the data under a key of its own. The SDK may repeat its requests, which all say the same.
func (s *Store) upload(ctx context.Context, stamp fencerow.Stamp, body io.Reader) (uploaded, error) {
	what := "upload the data of " + stamp.String()
	u := uploaded{key: s.dataKey(stamp)}
	sum := sha256.New()
	part := make([]byte, s.opts.PartSize)
	read := func() (int, bool, error) {
		n, err := io.ReadFull(body, part)
		sum.Write(part[:n])
		u.size += int64(n)
		last := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		if err != nil && !last {
			return n, false, fmt.Errorf("s3fence: %s: read the body: %w", what, err)
		}
		return n, last, nil
	}
	n, last, err := read()
	if err != nil {
		return u, err
	}
	if last {
		_, err = s.client.PutObject(ctx, &s3.PutObjectInput{Bucket: &s.bucket, Key: &u.key, Body: bytes.NewReader(part[:n])})
	} else {
		err = s.uploadParts(ctx, u.key, part, n, read)
	}
	if err != nil {
		return u, explain(what, err) // nothing refers to it
	}
	u.sha256 = hex.EncodeToString(sum.Sum(nil))
	return u, nil
}

// uploadParts uploads the first n bytes of part and what follows them.
func (s *Store) uploadParts(ctx context.Context, key string, part []byte, n int, read func() (int, bool, error)) (err error) {
	begun, err := s.client.CreateMultipartUpload(ctx, &s3.CreateMultipartUploadInput{Bucket: &s.bucket, Key: &key})
	if err != nil {
		return err
	}
	defer func() {
		if err != nil { // parts cost money until they are given up
			_, _ = s.client.AbortMultipartUpload(context.WithoutCancel(ctx), &s3.AbortMultipartUploadInput{Bucket: &s.bucket, Key: &key, UploadId: begun.UploadId})
		}
	}()
	var parts []types.CompletedPart
	for last := false; ; {
		number := aws.Int32(int32(len(parts) + 1))
		out, err := s.client.UploadPart(ctx, &s3.UploadPartInput{Bucket: &s.bucket, Key: &key, UploadId: begun.UploadId, PartNumber: number, Body: bytes.NewReader(part[:n])})
		if err != nil {
			return err
		}
		parts = append(parts, types.CompletedPart{ETag: out.ETag, PartNumber: number,
			ChecksumCRC32: out.ChecksumCRC32, ChecksumCRC32C: out.ChecksumCRC32C, ChecksumCRC64NVME: out.ChecksumCRC64NVME, ChecksumSHA1: out.ChecksumSHA1, ChecksumSHA256: out.ChecksumSHA256})
		if last {
			break
		}
		if n, last, err = read(); err != nil {
			return err
		}
		if last && n == 0 {
			break
		}
	}
	_, err = s.client.CompleteMultipartUpload(ctx, &s3.CompleteMultipartUploadInput{Bucket: &s.bucket, Key: &key, UploadId: begun.UploadId,
		MultipartUpload: &types.CompletedMultipartUpload{Parts: parts}})
	return err
}
