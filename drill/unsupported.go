//go:build !unix

package drill

import (
	"context"
	"errors"
)

func perform(context.Context, Config, string, Order, Guard) (Run, error) {
	return Run{}, errors.New("drill: freezing a process needs SIGSTOP, which this system does not have; run it on Linux, macOS or BSD")
}
