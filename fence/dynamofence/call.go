package dynamofence

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/fencerow/fencerow"
)

// call is one request that is sent at most once: a second attempt of the SDK would fail at the condition that its first one has
// changed, and report a write that was applied as refused.
type call struct{ sent bool }

func (c *call) once(o *dynamodb.Options) {
	o.Retryer = aws.NopRetryer{}
	o.APIOptions = append(o.APIOptions[:len(o.APIOptions):len(o.APIOptions)], func(stack *middleware.Stack) error {
		// The last step before the transport. What fails before it was not sent.
		return stack.Deserialize.Add(middleware.DeserializeMiddlewareFunc("FencerowSent",
			func(ctx context.Context, in middleware.DeserializeInput, next middleware.DeserializeHandler) (middleware.DeserializeOutput, middleware.Metadata, error) {
				if err := ctx.Err(); err != nil {
					return middleware.DeserializeOutput{}, middleware.Metadata{}, err
				}
				c.sent = true
				return next.HandleDeserialize(ctx, in)
			}), middleware.After)
	})
}

// busy are answers of a store that has not carried out the request, and may soon.
var busy = map[string]bool{
	"ProvisionedThroughputExceededException": true,
	"ProvisionedThroughputExceeded":          true,
	"ThrottlingException":                    true,
	"ThrottlingError":                        true,
	"RequestLimitExceeded":                   true,
	"TransactionConflictException":           true,
	"TransactionConflict":                    true,
	"TransactionInProgressException":         true,
	"ReplicatedWriteConflictException":       true,
}

// failed translates an error of a call that is not about a condition. An answer that says what is wrong with the request was not
// carried out; anything else after the request was sent leaves its outcome unknown.
func (c *call) failed(what string, err error) error {
	code, definite := refusalOf(err)
	switch {
	case definite && busy[code]:
		return fmt.Errorf("%w: dynamofence: %s: %w", fencerow.ErrConflict, what, err)
	case definite || !c.sent:
		return fmt.Errorf("dynamofence: %s: %w", what, err)
	}
	return fmt.Errorf("%w: dynamofence: %s: %w", fencerow.ErrAmbiguous, what, err)
}

// refusalOf returns the code of an answer by which DynamoDB has refused a request.
func refusalOf(err error) (code string, definite bool) {
	var api smithy.APIError
	var response *smithyhttp.ResponseError
	if !errors.As(err, &api) || !errors.As(err, &response) {
		return "", false
	}
	// What is not in the form of DynamoDB was said by somebody in between, who may have passed the request on. So may a service that
	// answers with 5xx.
	status := response.HTTPStatusCode()
	code = api.ErrorCode()
	return code, status >= 400 && status < 500 && status != 408 && code != "" && code != "UnknownError" &&
		code != "InternalServerError" && code != "InternalFailure"
}

// reading translates an error of a read: nothing was written by it.
func reading(what string, err error) error {
	if code, definite := refusalOf(err); definite && !busy[code] {
		return fmt.Errorf("dynamofence: %s: %w", what, err)
	}
	return fmt.Errorf("%w: dynamofence: %s: %w", fencerow.ErrConflict, what, err)
}

// conditionFailed reports whether a condition did not hold, and returns the item that it was compared with where the store says so.
func conditionFailed(err error) (item, bool) {
	var failed *types.ConditionalCheckFailedException
	if !errors.As(err, &failed) {
		return nil, false
	}
	return failed.Item, true
}
