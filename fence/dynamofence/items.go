package dynamofence

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/fencerow/fencerow"
	"github.com/fencerow/fencerow/fence"
)

// Items fences the items of a table, each of which is a resource of its own. The mark is in attributes of the item. Items may be there
// before the fence is: one without the attributes has the mark 0. It is safe for concurrent use.
type Items struct {
	table table
	opts  ItemOptions
}

// OpenItems returns the fence of a table's items. It refuses a table that does not exist, whose items may expire, or whose replicas are
// eventually consistent. The client stays the caller's.
func OpenItems(ctx context.Context, client *dynamodb.Client, table string, opts *ItemOptions) (*Items, error) {
	t := &Items{}
	var err error
	if t.opts, err = opts.resolve(); err != nil {
		return nil, fmt.Errorf("dynamofence: open the items: %w", err)
	}
	if t.table, err = openTable(ctx, client, table, t.opts.AllowReplicas); err != nil {
		return nil, fmt.Errorf("dynamofence: open the items: %w", err)
	}
	for _, name := range []string{t.table.partition, t.table.sort} {
		if t.opts.Attributes.has(name) {
			return nil, fmt.Errorf("dynamofence: open the items: %s is a key of %s, the mark needs other attributes", name, table)
		}
	}
	return t, nil
}

func (t *Items) rule() fence.Rule {
	if t.opts.Stepped {
		return fence.Stepped
	}
	return fence.Claimed
}

// Claim raises the mark of an item to the stamp's token and returns the item, in one request. From then on no older holder's write to it
// is accepted. The same grant may claim again, and reads the newest item by that. With [ItemOptions.Guard] the item may be missing: it
// is nil then, and its mark is kept until it is made.
//
// The errors are [fencerow.ErrStale], [fencerow.ErrTokenReused], [fencerow.ErrMismatch], [fencerow.ErrNoToken],
// [fencerow.ErrMissing], [fencerow.ErrImplausible], [fencerow.ErrUnfenced], [fencerow.ErrConflict], [fencerow.ErrAmbiguous], or a failure
// of DynamoDB.
func (t *Items) Claim(ctx context.Context, stamp fencerow.Stamp, resource fencerow.Resource, key map[string]types.AttributeValue) (map[string]types.AttributeValue, error) {
	found, err := t.claim(ctx, stamp, resource, key)
	return found, stamp.Settle(ctx, t.opts.Observer, fencerow.Claim, err)
}

func (t *Items) claim(ctx context.Context, stamp fencerow.Stamp, resource fencerow.Resource, key item) (found item, err error) {
	if err := t.check(stamp, resource, key); err != nil {
		return nil, err
	}
	token := stamp.Token()
	what := "claim " + token.String()
	e := expressions{}.with(t.opts.Attributes.clause().there(t.table).claimable(token, t.opts.MaxJump).record(fence.ClaimOf(token)))
	j := t.judge(what, resource, key, false, func(stored item, m fence.Mark) error {
		if err := m.Claim(stamp, t.opts.MaxJump); err != nil || !m.Holds(token) {
			return err
		}
		found = stored
		return errHolds
	})
	err = fence.Resolve(ctx, true, func() error {
		c := &call{}
		out, err := t.table.client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
			TableName: &t.table.name, Key: key, UpdateExpression: &e.update, ConditionExpression: &e.condition,
			ExpressionAttributeNames: e.names, ExpressionAttributeValues: e.values,
			ReturnValues: types.ReturnValueAllNew, ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
		}, c.once)
		if err == nil {
			found = out.Attributes
			return nil
		}
		stored, failed := conditionFailed(err)
		if !failed {
			return c.failed(what, err)
		}
		err = j.verdict(ctx, stored)
		switch {
		case errors.Is(err, errHolds):
			return nil
		case errors.Is(err, fencerow.ErrMissing) && t.opts.Guard != nil:
			found, err = nil, t.claimMissing(ctx, stamp, what, key)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return found, nil
}

// errHolds says that the grant has claimed before.
var errHolds = errors.New("the grant has claimed")

// Update sends an update of one item that only the newest holder can make, at most once for the stamp. The fence adds its condition to the
// caller's, and its assignments to the update expression, which may be absent. TableName may be nil.
//
// A nil error means applied; the output has no attributes if that was found out after a lost answer. Otherwise nothing was written,
// unless the error is [fencerow.ErrAmbiguous]. The errors are [fencerow.ErrStale], [fencerow.ErrDuplicate], [fencerow.ErrOutOfOrder],
// [fencerow.ErrUnclaimed], [fencerow.ErrMissing] for an item that is not there, unless there is an [ItemOptions.Guard],
// [fencerow.ErrRejected] if the caller's condition did not hold, [fencerow.ErrTokenReused], [fencerow.ErrMismatch],
// [fencerow.ErrNoToken], [fencerow.ErrUnfenced], [fencerow.ErrConflict], or a failure of DynamoDB.
func (t *Items) Update(ctx context.Context, stamp fencerow.Stamp, resource fencerow.Resource, in *dynamodb.UpdateItemInput) (*dynamodb.UpdateItemOutput, error) {
	out := &dynamodb.UpdateItemOutput{}
	err := t.write(ctx, stamp, resource, in != nil, func() (request, error) { return t.update(in, out) })
	if err = stamp.Settle(ctx, t.opts.Observer, fencerow.Write, err); err != nil {
		return nil, err
	}
	return out, nil
}

// Put replaces one item as [Items.Update] changes one. The fence sets its attributes in the new item.
func (t *Items) Put(ctx context.Context, stamp fencerow.Stamp, resource fencerow.Resource, in *dynamodb.PutItemInput) (*dynamodb.PutItemOutput, error) {
	out := &dynamodb.PutItemOutput{}
	err := t.write(ctx, stamp, resource, in != nil, func() (request, error) { return t.put(in, out) })
	if err = stamp.Settle(ctx, t.opts.Observer, fencerow.Write, err); err != nil {
		return nil, err
	}
	return out, nil
}

// write sends a request until its answer is definite.
func (t *Items) write(ctx context.Context, stamp fencerow.Stamp, resource fencerow.Resource, given bool, prepare func() (request, error)) error {
	if err := stamp.Check(resource); err != nil {
		return err
	}
	what := "write " + stamp.String()
	if !given {
		return fmt.Errorf("dynamofence: %s: the input is nil", what)
	}
	r, err := prepare()
	if err == nil && !t.table.is(r.table) && r.table != nil {
		err = fmt.Errorf("the input names the table %s, the fence is of %s", *r.table, t.table.name)
	}
	if err == nil {
		err = r.caller.check(t.opts.Attributes)
	}
	if err != nil {
		return fmt.Errorf("dynamofence: %s: %w", what, err)
	}
	if err := t.check(stamp, resource, r.key); err != nil {
		return err
	}
	with := r.caller.with(t.admitting(stamp, r))
	j := t.judge(what, resource, r.key, r.caller.condition != "", func(_ item, m fence.Mark) error { return m.Write(t.rule(), stamp) })
	return fence.Resolve(ctx, true, func() error {
		c := &call{}
		err := r.send(ctx, stamp, with, c)
		if err == nil {
			return nil
		}
		stored, failed := conditionFailed(err)
		if !failed {
			return c.failed(what, err)
		}
		if err = j.verdict(ctx, stored); errors.Is(err, fencerow.ErrMissing) && t.opts.Guard != nil {
			return t.create(ctx, stamp, what, r)
		}
		return err
	})
}

// admitting is the condition of a write to an item that is there.
func (t *Items) admitting(stamp fencerow.Stamp, r request) *clause {
	c := t.opts.Attributes.clause().there(t.table).admits(t.rule(), stamp)
	if r.assigns {
		c.record(fence.WriteOf(stamp))
	}
	return c
}

// check refuses a stamp or key of another resource.
func (t *Items) check(stamp fencerow.Stamp, resource fencerow.Resource, key item) error {
	if err := stamp.Check(resource); err != nil {
		return err
	}
	if _, err := t.table.key(key); err != nil {
		return fmt.Errorf("dynamofence: %s: %w", stamp, err)
	}
	if t.opts.Resource == nil {
		return nil
	}
	switch of, err := t.opts.Resource(key); {
	case err != nil:
		return fmt.Errorf("dynamofence: %s: the resource of the item: %w", stamp, err)
	case of != resource:
		return fmt.Errorf("%w: the item belongs to %s, the stamp to %s", fencerow.ErrMismatch, of, resource)
	}
	return nil
}

func (t *Items) judge(what string, resource fencerow.Resource, key item, own bool, decide func(item, fence.Mark) error) *judge {
	return &judge{
		what: what, own: own,
		look: func(ctx context.Context) (item, error) { return t.table.get(ctx, key) },
		mark: func(stored item) (fence.Mark, error) { return t.opts.Attributes.markOf(resource, stored) },
		decide: func(stored item, m fence.Mark) error {
			if len(stored) == 0 {
				return fmt.Errorf("%w: no item of %s for %s", fencerow.ErrMissing, t.table.name, resource)
			}
			return decide(stored, m)
		},
	}
}
