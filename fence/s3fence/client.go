package s3fence

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go"

	"github.com/fencerow/fencerow"
)

// Client is what the fences use of an *s3.Client.
type Client interface {
	PutObject(context.Context, *s3.PutObjectInput, ...func(*s3.Options)) (*s3.PutObjectOutput, error)
	GetObject(context.Context, *s3.GetObjectInput, ...func(*s3.Options)) (*s3.GetObjectOutput, error)
	HeadObject(context.Context, *s3.HeadObjectInput, ...func(*s3.Options)) (*s3.HeadObjectOutput, error)
	DeleteObject(context.Context, *s3.DeleteObjectInput, ...func(*s3.Options)) (*s3.DeleteObjectOutput, error)
	ListObjectsV2(context.Context, *s3.ListObjectsV2Input, ...func(*s3.Options)) (*s3.ListObjectsV2Output, error)
	CreateMultipartUpload(context.Context, *s3.CreateMultipartUploadInput, ...func(*s3.Options)) (*s3.CreateMultipartUploadOutput, error)
	UploadPart(context.Context, *s3.UploadPartInput, ...func(*s3.Options)) (*s3.UploadPartOutput, error)
	CompleteMultipartUpload(context.Context, *s3.CompleteMultipartUploadInput, ...func(*s3.Options)) (*s3.CompleteMultipartUploadOutput, error)
	AbortMultipartUpload(context.Context, *s3.AbortMultipartUploadInput, ...func(*s3.Options)) (*s3.AbortMultipartUploadOutput, error)
}

// once keeps the SDK from sending a conditional write again by itself: what it would report then is the refusal of its own success.
func once(o *s3.Options) { o.Retryer = aws.NopRetryer{} }

// isMissing reports whether an object is not there. A missing bucket is another matter.
func isMissing(err error) bool {
	code, status := answered(err)
	return code == "NoSuchKey" || status == http.StatusNotFound && code != "NoSuchBucket"
}

// lostRace reports whether the store says that a condition did not hold, or that another write was under way. Stores differ in how they
// say it: If-Match on an object that is gone is 404 on AWS and 412 elsewhere, and two writes at once may be 409.
func lostRace(err error) bool {
	code, status := answered(err)
	switch status {
	case http.StatusPreconditionFailed, http.StatusConflict:
		return true
	case http.StatusNotFound:
		return code != "NoSuchBucket"
	}
	return false
}

// answered returns what a store has answered, and 0 if no answer came.
func answered(err error) (code string, status int) {
	var api smithy.APIError
	if errors.As(err, &api) {
		code = api.ErrorCode()
	}
	var response *awshttp.ResponseError
	if errors.As(err, &response) {
		status = response.HTTPStatusCode()
	}
	return code, status
}

// unwritten translates an error of a request that writes nothing, or whose outcome does not matter.
func unwritten(what string, err error) error {
	if _, status := answered(err); isTemporary(status) {
		return fmt.Errorf("%w: s3fence: %s: %w", fencerow.ErrConflict, what, err)
	}
	return explain(what, err)
}

// unknown translates an error of a conditional write that has not lost a race.
func unknown(what string, err error) error {
	if _, status := answered(err); isTemporary(status) {
		return fmt.Errorf("%w: s3fence: %s: %w", fencerow.ErrAmbiguous, what, err)
	}
	return explain(what, err)
}

// isTemporary reports whether no answer came, or one that says that the store is not well. A store may have carried out what it answers
// with 500.
func isTemporary(status int) bool {
	return status == 0 || status >= http.StatusInternalServerError && status != http.StatusNotImplemented
}

// remedies are for what a store answers, by its code.
var remedies = map[string]string{
	"NoSuchBucket":          "the bucket does not exist; create it",
	"ExpiredToken":          "the credentials have expired; get new ones",
	"InvalidAccessKeyId":    "the store does not know the access key",
	"SignatureDoesNotMatch": "the store does not accept the secret key",
	"AccessDenied":          "the credentials need GetObject, PutObject and ListBucket for the prefix, and DeleteObject for Collect",
	"NotImplemented":        "the store does not know conditional writes; use Keyed, or another store",
}

func explain(what string, err error) error {
	code, _ := answered(err)
	if remedy, ok := remedies[code]; ok {
		return fmt.Errorf("s3fence: %s: %s: %w", what, remedy, err)
	}
	return fmt.Errorf("s3fence: %s: %w", what, err)
}
