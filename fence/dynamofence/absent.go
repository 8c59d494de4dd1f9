package dynamofence

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/fencerow/fencerow"
	"github.com/fencerow/fencerow/fence"
)

// What follows is about items that are not there. Their mark is in the guard item: it is put there by the transaction that deletes the
// item, and compared by the one that makes it anew. While the item is there its own mark is the newer one.

// claimMissing raises the mark in the guard, on the condition that the item is still missing.
func (t *Items) claimMissing(ctx context.Context, stamp fencerow.Stamp, what string, key item) error {
	g, token := t.opts.Guard, stamp.Token()
	e := expressions{}.with(t.opts.Attributes.clause().absent(t.table))
	holds := false
	err := transaction{guard: g, stamp: stamp, what: what,
		input: dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{{ConditionCheck: &types.ConditionCheck{
			TableName: &t.table.name, Key: key, ConditionExpression: &e.condition, ExpressionAttributeNames: e.names,
		}}}},
		pass: g.opts.Attributes.clause().claimable(token, t.opts.MaxJump).record(fence.ClaimOf(token)),
		refuse: func(m fence.Mark) error {
			if err := m.Claim(stamp, t.opts.MaxJump); err != nil || !m.Holds(token) {
				return err
			}
			holds = true
			return errHolds
		},
		caller: func(context.Context, int, item) error { return t.appeared(what) },
	}.send(ctx)
	if !holds {
		return err
	}
	// The grant has claimed before. Nobody older can have made the item since, but somebody may have done so before that.
	switch stored, err := t.table.get(ctx, key); {
	case err != nil:
		return reading(what, err)
	case len(stored) > 0:
		return t.appeared(what)
	}
	return nil
}

func (t *Items) appeared(what string) error {
	return fmt.Errorf("%w: dynamofence: %s: the item was made meanwhile", fencerow.ErrConflict, what)
}

// create makes the item and records the stamp in it and in the guard.
func (t *Items) create(ctx context.Context, stamp fencerow.Stamp, what string, r request) error {
	c := t.opts.Attributes.clause().absent(t.table)
	if r.assigns {
		c.record(fence.WriteOf(stamp))
	}
	return t.beside(stamp, what, t.opts.Stepped, r.action(stamp, r.caller.with(c)), func(ctx context.Context, _ int, stored item) error {
		if len(stored) == 0 {
			var err error
			if stored, err = t.table.get(ctx, r.key); err != nil {
				return reading(what+": it was refused, look why", err)
			}
		}
		if len(stored) > 0 {
			return t.appeared(what)
		}
		return fmt.Errorf("%w: dynamofence: %s", fencerow.ErrRejected, what)
	}).send(ctx)
}

// beside is a transaction of one action on the item, and the guard item. Raise admits a grant that has not claimed at the guard.
func (t *Items) beside(stamp fencerow.Stamp, what string, raise bool, action types.TransactWriteItem, caller func(context.Context, int, item) error) transaction {
	g := t.opts.Guard
	pass := g.opts.Attributes.clause()
	if raise {
		pass.raises(stamp)
	} else {
		pass.admits(fence.Claimed, stamp)
	}
	return transaction{guard: g, stamp: stamp, what: what,
		input:  dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{action}},
		pass:   pass.record(fence.WriteOf(stamp)),
		refuse: func(m fence.Mark) error { return refuses(m, stamp, raise) },
		caller: caller,
	}
}

// refuses returns why a mark in the guard does not admit a stamp.
func refuses(m fence.Mark, stamp fencerow.Stamp, raise bool) error {
	err := m.Write(fence.Claimed, stamp)
	if raise && errors.Is(err, fencerow.ErrUnclaimed) {
		return nil
	}
	return err
}

// Delete deletes one item as [Items.Update] changes one. It needs an [ItemOptions.Guard], whose guard item keeps the mark in the same
// transaction: afterwards an older holder neither makes the item anew nor claims it. ReturnValues must be empty, as transactions return
// nothing; claim first to see the item.
func (t *Items) Delete(ctx context.Context, stamp fencerow.Stamp, resource fencerow.Resource, in *dynamodb.DeleteItemInput) (*dynamodb.DeleteItemOutput, error) {
	err := stamp.Settle(ctx, t.opts.Observer, fencerow.Write, t.delete(ctx, stamp, resource, in))
	if err != nil {
		return nil, err
	}
	return &dynamodb.DeleteItemOutput{}, nil
}

func (t *Items) delete(ctx context.Context, stamp fencerow.Stamp, resource fencerow.Resource, in *dynamodb.DeleteItemInput) error {
	if err := stamp.Check(resource); err != nil {
		return err
	}
	what := "delete " + stamp.String()
	r, err := t.deletion(in)
	if err != nil {
		return fmt.Errorf("dynamofence: %s: %w", what, err)
	}
	if err := t.check(stamp, resource, r.key); err != nil {
		return err
	}
	with := r.caller.with(t.admitting(stamp, r))
	j := t.judge(what, resource, r.key, r.caller.condition != "", func(_ item, m fence.Mark) error { return m.Write(t.rule(), stamp) })
	return fence.Resolve(ctx, true, func() error {
		return t.beside(stamp, what, true, r.action(stamp, with), func(ctx context.Context, _ int, stored item) error {
			return j.verdict(ctx, stored)
		}).send(ctx)
	})
}

// deletion checks the input and makes the request of it.
func (t *Items) deletion(in *dynamodb.DeleteItemInput) (request, error) {
	switch {
	case in == nil:
		return request{}, errors.New("the input is nil")
	case t.opts.Guard == nil:
		return request{}, errors.New("the mark would go with the item: open the items with a Guard, which keeps it")
	case in.TableName != nil && !t.table.is(in.TableName):
		return request{}, fmt.Errorf("the input names the table %s, the fence is of %s", *in.TableName, t.table.name)
	case in.ReturnValues != "" && in.ReturnValues != types.ReturnValueNone:
		return request{}, fmt.Errorf("ReturnValues is %s, a transaction returns nothing; claim first to see the item", in.ReturnValues)
	}
	r := request{key: in.Key, caller: expressions{condition: aws.ToString(in.ConditionExpression),
		names: in.ExpressionAttributeNames, values: in.ExpressionAttributeValues}}
	r.action = func(_ fencerow.Stamp, with expressions) types.TransactWriteItem {
		return types.TransactWriteItem{Delete: &types.Delete{TableName: &t.table.name, Key: in.Key, ConditionExpression: &with.condition,
			ExpressionAttributeNames: with.names, ExpressionAttributeValues: with.values, ReturnValuesOnConditionCheckFailure: returnOld}}
	}
	return r, errors.Join(legacy(nil, in.Expected, in.ConditionalOperator), r.caller.check(t.opts.Attributes))
}
