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

// request is a write of the caller to one item, to which the fence is added: alone, or as an action of a transaction.
type request struct {
	table   *string
	key     item
	caller  expressions
	assigns bool // by its update expression, or else the mark is put into the item
	send    func(ctx context.Context, stamp fencerow.Stamp, with expressions, c *call) error
	action  func(stamp fencerow.Stamp, with expressions) types.TransactWriteItem
}

const returnOld = types.ReturnValuesOnConditionCheckFailureAllOld

func (t *Items) update(in *dynamodb.UpdateItemInput, out *dynamodb.UpdateItemOutput) (request, error) {
	return request{
		table: in.TableName, key: in.Key, assigns: true,
		caller: expressions{update: aws.ToString(in.UpdateExpression), condition: aws.ToString(in.ConditionExpression),
			names: in.ExpressionAttributeNames, values: in.ExpressionAttributeValues},
		send: func(ctx context.Context, _ fencerow.Stamp, with expressions, c *call) error {
			fenced := *in
			fenced.TableName, fenced.ReturnValuesOnConditionCheckFailure = &t.table.name, returnOld
			fenced.UpdateExpression, fenced.ConditionExpression = &with.update, &with.condition
			fenced.ExpressionAttributeNames, fenced.ExpressionAttributeValues = with.names, with.values
			got, err := t.table.client.UpdateItem(ctx, &fenced, c.once)
			if err == nil {
				*out = *got
			}
			return err
		},
		action: func(_ fencerow.Stamp, with expressions) types.TransactWriteItem {
			return types.TransactWriteItem{Update: &types.Update{
				TableName: &t.table.name, Key: in.Key, UpdateExpression: &with.update, ConditionExpression: &with.condition,
				ExpressionAttributeNames: with.names, ExpressionAttributeValues: with.values, ReturnValuesOnConditionCheckFailure: returnOld,
			}}
		},
	}, legacy(in.AttributeUpdates, in.Expected, in.ConditionalOperator)
}

func (t *Items) put(in *dynamodb.PutItemInput, out *dynamodb.PutItemOutput) (request, error) {
	marked := func(stamp fencerow.Stamp) item {
		with := copied(in.Item)
		t.opts.Attributes.put(with, fence.WriteOf(stamp))
		return with
	}
	key, err := t.table.key(in.Item)
	for name := range in.Item {
		if t.opts.Attributes.has(name) {
			err = errors.Join(err, fmt.Errorf("the item has the attribute %s, which the fence alone may set", name))
		}
	}
	return request{
		table: in.TableName, key: key,
		caller: expressions{condition: aws.ToString(in.ConditionExpression), names: in.ExpressionAttributeNames, values: in.ExpressionAttributeValues},
		send: func(ctx context.Context, stamp fencerow.Stamp, with expressions, c *call) error {
			fenced := *in
			fenced.TableName, fenced.ReturnValuesOnConditionCheckFailure = &t.table.name, returnOld
			fenced.Item, fenced.ConditionExpression = marked(stamp), &with.condition
			fenced.ExpressionAttributeNames, fenced.ExpressionAttributeValues = with.names, with.values
			got, err := t.table.client.PutItem(ctx, &fenced, c.once)
			if err == nil {
				*out = *got
			}
			return err
		},
		action: func(stamp fencerow.Stamp, with expressions) types.TransactWriteItem {
			return types.TransactWriteItem{Put: &types.Put{
				TableName: &t.table.name, Item: marked(stamp), ConditionExpression: &with.condition,
				ExpressionAttributeNames: with.names, ExpressionAttributeValues: with.values, ReturnValuesOnConditionCheckFailure: returnOld,
			}}
		},
	}, errors.Join(err, legacy(nil, in.Expected, in.ConditionalOperator))
}
