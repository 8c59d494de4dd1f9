package dynamofence

import (
	"context"
	"fmt"
	"maps"

	"github.com/fencerow/fencerow"
	"github.com/fencerow/fencerow/fence"
)

// judge says why a condition has failed, over all attempts of one operation.
//
// A store that returns the item as the condition saw it leaves no doubt. Some emulators do not, and none can for an item that is not
// there; then the item is read, and may have changed since.
type judge struct {
	what   string
	look   func(context.Context) (item, error)
	mark   func(item) (fence.Mark, error)
	decide func(stored item, m fence.Mark) error // nil if the fence admits
	own    bool                                  // whether the caller has a condition of its own

	looked bool // the last attempt
	there  bool
	seen   fence.Mark
}

// verdict returns why a request was refused, and [fencerow.ErrConflict] to send it again if that cannot be said yet.
func (j *judge) verdict(ctx context.Context, returned item) error {
	stored, exact := returned, len(returned) > 0
	if !exact {
		var err error
		if stored, err = j.look(ctx); err != nil {
			return reading(j.what+": it was refused, look why", err)
		}
	}
	m, err := j.mark(stored)
	if err != nil {
		return err
	}
	if err := j.decide(stored, m); err != nil {
		return err
	}
	there := len(stored) > 0
	switch {
	// A mark never goes back to what it was. If it is the same before and after the request, the request has met the same.
	case j.own && (exact || j.looked && j.there == there && j.seen == m):
		return fmt.Errorf("%w: dynamofence: %s", fencerow.ErrRejected, j.what)
	}
	j.looked, j.there, j.seen = true, there, m
	return changed(j.what, returned)
}

// changed is the answer where the condition did not hold and the mark admits: it has changed between the request and the look at it. The
// item that a store returns with its refusal leaves no time for that.
func changed(what string, returned item) error {
	if len(returned) > 0 {
		return fmt.Errorf("dynamofence: %s: the condition refuses what the item admits, which is a mistake of this package: please report it", what)
	}
	return fmt.Errorf("%w: dynamofence: %s: the mark has changed meanwhile", fencerow.ErrConflict, what)
}

// copied keeps what the caller has given from being changed.
func copied(of item) item {
	if of == nil {
		return item{}
	}
	return maps.Clone(of)
}
