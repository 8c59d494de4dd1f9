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

// Guard fences transactions: each resource has a guard item with its mark, which is an action of every transaction. It is safe for
// concurrent use.
type Guard struct {
	table table
	opts  GuardOptions
}

// OpenGuard returns the guard whose items are in a table. The partition key must be a text, and so must the sort key, if the table has
// one; the table may hold other items. It refuses a table that does not exist, whose items may expire, or whose replicas are eventually
// consistent. The client stays the caller's.
func OpenGuard(ctx context.Context, client *dynamodb.Client, table string, opts *GuardOptions) (*Guard, error) {
	g := &Guard{}
	var err error
	if g.opts, err = opts.resolve(); err != nil {
		return nil, fmt.Errorf("dynamofence: open the guard: %w", err)
	}
	if g.table, err = openTable(ctx, client, table, g.opts.AllowReplicas); err != nil {
		return nil, fmt.Errorf("dynamofence: open the guard: %w", err)
	}
	for _, name := range []string{g.table.partition, g.table.sort} {
		if t, known := g.table.types[name]; known && t != types.ScalarAttributeTypeS {
			return nil, fmt.Errorf("dynamofence: open the guard: the key %s of %s is of type %s, the guard items need a text (S)", name, table, t)
		}
		if g.opts.Attributes.has(name) {
			return nil, fmt.Errorf("dynamofence: open the guard: %s is a key of %s, the mark needs other attributes", name, table)
		}
	}
	return g, nil
}

// The kinds of guard items.
const (
	markItem      = "mark/"
	overridesItem = "overrides/"
)

// key returns the key of a guard item.
func (g *Guard) key(kind string, resource fencerow.Resource) item {
	key := item{g.table.partition: text(g.opts.Prefix + kind + string(resource))}
	if g.table.sort != "" {
		key[g.table.sort] = text("fencerow")
	}
	return key
}

// Mark returns what is stored of a resource, for people and tests. It is no permission to write.
func (g *Guard) Mark(ctx context.Context, resource fencerow.Resource) (fence.Mark, error) {
	stored, err := g.table.get(ctx, g.key(markItem, resource))
	if err != nil {
		return fence.Mark{}, fmt.Errorf("dynamofence: look at the mark of %s: %w", resource, err)
	}
	return g.opts.Attributes.markOf(resource, stored)
}

// Claim raises the mark of a resource to the stamp's token. From then on no transaction of an older holder is accepted. The same grant
// may claim again. Claim before the first read of what the resource protects; [Guard.Tx], [Guard.Get] and [Guard.TransactGet] claim by
// themselves.
//
// The errors are [fencerow.ErrStale], [fencerow.ErrTokenReused], [fencerow.ErrMismatch], [fencerow.ErrNoToken],
// [fencerow.ErrImplausible], [fencerow.ErrUnfenced], [fencerow.ErrConflict], [fencerow.ErrAmbiguous], or a failure of DynamoDB.
func (g *Guard) Claim(ctx context.Context, stamp fencerow.Stamp, resource fencerow.Resource) error {
	err := stamp.Check(resource)
	if err == nil {
		_, err = g.claim(ctx, stamp)
	}
	return stamp.Settle(ctx, g.opts.Observer, fencerow.Claim, err)
}

// claim raises the mark, and reports whether this call did.
func (g *Guard) claim(ctx context.Context, stamp fencerow.Stamp) (raised bool, err error) {
	token := stamp.Token()
	what := "claim " + token.String()
	update := g.raise(token)
	err = fence.Resolve(ctx, true, func() error {
		c := &call{}
		_, err := g.table.client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
			TableName: update.TableName, Key: update.Key,
			UpdateExpression: update.UpdateExpression, ConditionExpression: update.ConditionExpression,
			ExpressionAttributeNames: update.ExpressionAttributeNames, ExpressionAttributeValues: update.ExpressionAttributeValues,
			ReturnValuesOnConditionCheckFailure: update.ReturnValuesOnConditionCheckFailure,
		}, c.once)
		if err == nil {
			raised = true
			return nil
		}
		stored, failed := conditionFailed(err)
		if !failed {
			return c.failed(what, err)
		}
		m, err := g.stored(ctx, what, token.Resource(), stored)
		if err != nil {
			return err
		}
		if err := m.Claim(stamp, g.opts.MaxJump); err != nil || m.Holds(token) {
			return err
		}
		return changed(what, stored)
	})
	return raised, err
}

// stored returns the mark of a guard item that a store has returned, or else the one that is there now.
func (g *Guard) stored(ctx context.Context, what string, resource fencerow.Resource, returned item) (m fence.Mark, err error) {
	if len(returned) == 0 {
		if returned, err = g.table.get(ctx, g.key(markItem, resource)); err != nil {
			return m, reading(what+": it was refused, look at the guard", err)
		}
	}
	return g.opts.Attributes.markOf(resource, returned)
}

// raise is the action of a claim.
func (g *Guard) raise(token fencerow.Token) *types.Update {
	c := g.opts.Attributes.clause().claimable(token, g.opts.MaxJump).record(fence.ClaimOf(token))
	return g.update(token.Resource(), c)
}

// update is an action on the guard item.
func (g *Guard) update(resource fencerow.Resource, c *clause) *types.Update {
	e := expressions{}.with(c)
	return &types.Update{
		TableName: &g.table.name, Key: g.key(markItem, resource),
		UpdateExpression: &e.update, ConditionExpression: &e.condition,
		ExpressionAttributeNames: e.names, ExpressionAttributeValues: e.values,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
}

// Get reads one item behind the claim, which it makes if this grant has not done so, with strong consistency: what it returns has the
// writes of all older holders, and none of theirs comes after it. The errors are those of [Guard.Claim].
func (g *Guard) Get(ctx context.Context, stamp fencerow.Stamp, resource fencerow.Resource, in *dynamodb.GetItemInput) (*dynamodb.GetItemOutput, error) {
	out, err := g.read(ctx, stamp, resource, in)
	return out, stamp.Settle(ctx, g.opts.Observer, fencerow.Read, err)
}

func (g *Guard) read(ctx context.Context, stamp fencerow.Stamp, resource fencerow.Resource, in *dynamodb.GetItemInput) (out *dynamodb.GetItemOutput, err error) {
	if err := stamp.Check(resource); err != nil {
		return nil, err
	}
	if in == nil {
		return nil, errors.New("dynamofence: get: the input is nil")
	}
	if err := g.claimOnce(ctx, stamp); err != nil {
		return nil, err
	}
	consistent := *in
	consistent.ConsistentRead = aws.Bool(true)
	if out, err = g.table.client.GetItem(ctx, &consistent); err != nil {
		return nil, reading("get behind the claim of "+stamp.Token().String(), err)
	}
	return out, nil
}

// claimOnce tells the observer of a claim that was needed. If it fails it is the answer to the whole.
func (g *Guard) claimOnce(ctx context.Context, stamp fencerow.Stamp) error {
	raised, err := g.claim(ctx, stamp)
	if raised && err == nil {
		_ = stamp.Settle(ctx, g.opts.Observer, fencerow.Claim, nil)
	}
	return err
}

// maxActions is how many actions a transaction may have.
const maxActions = 100

// TransactGet reads up to 99 items in one transaction behind the claim, which it makes if this grant has not done so. The guard item is
// one of them, so that a nil error means that no newer holder had claimed when the items were read. The errors are those of
// [Guard.Claim].
func (g *Guard) TransactGet(ctx context.Context, stamp fencerow.Stamp, resource fencerow.Resource, in *dynamodb.TransactGetItemsInput) (*dynamodb.TransactGetItemsOutput, error) {
	out, err := g.readAll(ctx, stamp, resource, in)
	return out, stamp.Settle(ctx, g.opts.Observer, fencerow.Read, err)
}

func (g *Guard) readAll(ctx context.Context, stamp fencerow.Stamp, resource fencerow.Resource, in *dynamodb.TransactGetItemsInput) (out *dynamodb.TransactGetItemsOutput, err error) {
	if err := stamp.Check(resource); err != nil {
		return nil, err
	}
	if in == nil || len(in.TransactItems) >= maxActions {
		return nil, fmt.Errorf("dynamofence: get: it takes 1 to %d items, the guard is one more", maxActions-1)
	}
	if err := g.claimOnce(ctx, stamp); err != nil {
		return nil, err
	}
	what := "get behind the claim of " + stamp.Token().String()
	with := *in
	with.TransactItems = append([]types.TransactGetItem{{Get: &types.Get{TableName: &g.table.name, Key: g.key(markItem, resource)}}}, in.TransactItems...)
	err = fence.Resolve(ctx, true, func() error {
		out, err = g.table.client.TransactGetItems(ctx, &with)
		if cancelled := (*types.TransactionCanceledException)(nil); errors.As(err, &cancelled) {
			return cancelledRead(what, cancelled)
		}
		if err != nil {
			return reading(what, err)
		}
		if len(out.Responses) != len(with.TransactItems) {
			return fmt.Errorf("dynamofence: %s: %d items were asked for, %d came", what, len(with.TransactItems), len(out.Responses))
		}
		m, err := g.opts.Attributes.markOf(resource, out.Responses[0].Item)
		if err == nil && !m.Holds(stamp.Token()) {
			err = m.Write(fence.Claimed, stamp)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	out.Responses = out.Responses[1:]
	return out, nil
}
