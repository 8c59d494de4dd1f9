package redislock

import (
	"errors"
	"fmt"

	"github.com/fencerow/fencerow/driver"
	"github.com/fencerow/fencerow/internal/redisserver"
)

// failed names the operation and the resource. Answers of the contract are left as they are.
func failed(what, resource string, err error) error {
	var held *driver.HeldError
	var retired *driver.RetiredError
	if errors.As(err, &held) || errors.As(err, &retired) {
		return err
	}
	return fmt.Errorf("redislock: %s %s: %w", what, resource, redisserver.Explain(err))
}
