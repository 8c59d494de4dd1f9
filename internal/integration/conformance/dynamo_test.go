package conformance

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/fencerow/fencerow"
	"github.com/fencerow/fencerow/fence/dynamofence"
	"github.com/fencerow/fencerow/fencerowtest"
	"github.com/fencerow/fencerow/internal/integration/dynamofence/emulators"
	"github.com/fencerow/fencerow/internal/integration/wire"
)

func TestDynamoFencesConform(t *testing.T) {
	for _, e := range emulators.All() {
		t.Run(e.Name, func(t *testing.T) {
			store := e.Start(t)
			for name, stepped := range map[string]bool{"claimed": false, "stepped": true} {
				t.Run("items, "+name, func(t *testing.T) { holdItems(t, e, store, stepped) })
				if e.Transactions {
					t.Run("put and delete, "+name, func(t *testing.T) { holdPuts(t, e, store, stepped) })
				}
			}
			if e.Transactions {
				t.Run("guard", func(t *testing.T) { holdGuard(t, e, store, "id") })
				t.Run("guard in a table with a sort key", func(t *testing.T) { holdGuard(t, e, store, "pk", "sk") })
			}
		})
	}
}

type dynamoValue = map[string]types.AttributeValue

func dynamoText(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func dynamoNumber(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}

// dynamoExcept is what an emulator cannot be held to.
func dynamoExcept(e emulators.Emulator) map[string]string {
	if e.Exact {
		return nil
	}
	return map[string]string{
		"numbers-are-exact": e.Name + " compares numbers as float64, DynamoDB and dynalite do not",
		"null-is-unfenced":  e.Name + " fails at the comparison of a NULL with a number, which DynamoDB and dynalite call false",
	}
}

// dynamoJump is the largest jump of a claim.
const dynamoJump = 1 << 20

// openWiredDynamo opens the fence with a client behind a wire of its own. What the harness does around the fence keeps to the straight way.
func openWiredDynamo(t *testing.T, store emulators.Started, open func(context.Context, *dynamodb.Client) (fencerowtest.Fence, error)) func(context.Context) (fencerowtest.Fence, fencerowtest.Wire, error) {
	return func(ctx context.Context) (fencerowtest.Fence, fencerowtest.Wire, error) {
		w := wire.Start(t, strings.TrimPrefix(store.Endpoint, "http://"))
		fence, err := open(ctx, emulators.Started{Endpoint: "http://" + w.Addr()}.Client(nil))
		return fence, w, err
	}
}

// balances has what the harness does around the fence.
type balances struct {
	client *dynamodb.Client
	table  string
}

func newBalances(t *testing.T, store emulators.Started) balances {
	client := store.Client(nil)
	return balances{client, emulators.Table(t, client, "id")}
}

func (b balances) key(r fencerow.Resource) dynamoValue { return dynamoValue{"id": dynamoText(r.ID())} }

func (b balances) put(ctx context.Context, r fencerow.Resource) error {
	item := b.key(r)
	item["balance"] = dynamoNumber(0)
	_, err := b.client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &b.table, Item: item})
	return err
}

func (b balances) insert(ctx context.Context) (fencerow.Resource, error) {
	r := fencerow.Resource("account/" + rand.Text())
	return r, b.put(ctx, r)
}

func (b balances) remove(ctx context.Context, r fencerow.Resource) error {
	_, err := b.client.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: &b.table, Key: b.key(r)})
	if err != nil {
		return err
	}
	return b.put(ctx, r)
}

func (b balances) get(ctx context.Context, r fencerow.Resource) (dynamoValue, error) {
	out, err := b.client.GetItem(ctx, &dynamodb.GetItemInput{TableName: &b.table, Key: b.key(r), ConsistentRead: aws.Bool(true)})
	if err != nil {
		return nil, err
	}
	return out.Item, nil
}

// dynamoInt returns a number of an item, or 0 if it has none.
func dynamoInt(item dynamoValue, name string) (int64, error) {
	switch v := item[name].(type) {
	case nil:
		return 0, nil
	case *types.AttributeValueMemberN:
		return strconv.ParseInt(v.Value, 10, 64)
	case *types.AttributeValueMemberNULL:
		return -1, nil
	}
	return 0, fmt.Errorf("%s is a %T", name, item[name])
}

func (b balances) Load(ctx context.Context, r fencerow.Resource) (value, number int64, err error) {
	item, err := b.get(ctx, r)
	if err != nil {
		return 0, 0, err
	}
	value, valueErr := dynamoInt(item, "balance")
	number, numberErr := dynamoInt(item, "fence_token")
	return value, number, errors.Join(valueErr, numberErr)
}

func holdItems(t *testing.T, e emulators.Emulator, store emulators.Started, stepped bool) {
	t.Parallel()
	b := newBalances(t, store)
	open := func(ctx context.Context, client *dynamodb.Client) (fencerowtest.Fence, error) {
		items, err := dynamofence.OpenItems(ctx, client, b.table, &dynamofence.ItemOptions{Stepped: stepped, MaxJump: dynamoJump})
		return itemFence{b, items}, err
	}
	fencerowtest.TestFence(t, fencerowtest.FenceHarness{
		Name:        "dynamofence.Items on " + e.Name,
		Open:        func(ctx context.Context) (fencerowtest.Fence, error) { return open(ctx, b.client) },
		OpenWired:   openWiredDynamo(t, store, open),
		NewResource: b.insert,
		Features:    fencerowtest.Features{Claims: !stepped, Steps: true, Sources: true, Missing: true, MaxJump: dynamoJump},
		SetNull: func(ctx context.Context, r fencerow.Resource) error {
			_, err := b.client.UpdateItem(ctx, &dynamodb.UpdateItemInput{TableName: &b.table, Key: b.key(r),
				UpdateExpression:          aws.String("SET fence_token = :null"),
				ExpressionAttributeValues: dynamoValue{":null": &types.AttributeValueMemberNULL{Value: true}}})
			return err
		},
		Except: dynamoExcept(e),
	})
}

// itemFence drives items that are there.
type itemFence struct {
	balances
	items *dynamofence.Items
}

func (f itemFence) Claim(ctx context.Context, s fencerow.Stamp, r fencerow.Resource) (int64, error) {
	item, err := f.items.Claim(ctx, s, r, f.key(r))
	if err != nil {
		return 0, err
	}
	return dynamoInt(item, "balance")
}

func (f itemFence) Write(ctx context.Context, s fencerow.Stamp, r fencerow.Resource, value int64) error {
	_, err := f.items.Update(ctx, s, r, &dynamodb.UpdateItemInput{Key: f.key(r), UpdateExpression: aws.String("SET balance = :b"),
		ExpressionAttributeValues: dynamoValue{":b": dynamoNumber(value)}})
	return err
}

// holdPuts holds the form whose items come and go. Its resources begin without one.
func holdPuts(t *testing.T, e emulators.Emulator, store emulators.Started, stepped bool) {
	t.Parallel()
	b := newBalances(t, store)
	open := func(ctx context.Context, client *dynamodb.Client) (fencerowtest.Fence, error) {
		guard, err := dynamofence.OpenGuard(ctx, client, b.table, nil)
		if err != nil {
			return nil, err
		}
		items, err := dynamofence.OpenItems(ctx, client, b.table, &dynamofence.ItemOptions{Stepped: stepped, Guard: guard, MaxJump: dynamoJump})
		return putItemFence{itemFence{b, items}, guard}, err
	}
	fencerowtest.TestFence(t, fencerowtest.FenceHarness{
		Name:      "dynamofence.Items, put and delete, on " + e.Name,
		Open:      func(ctx context.Context) (fencerowtest.Fence, error) { return open(ctx, b.client) },
		OpenWired: openWiredDynamo(t, store, open),
		NewResource: func(context.Context) (fencerow.Resource, error) {
			return fencerow.Resource("account/" + rand.Text()), nil
		},
		Features: fencerowtest.Features{Claims: !stepped, Steps: true, Sources: true, MaxJump: dynamoJump},
		Except:   dynamoExcept(e),
	})
}

// putItemFence drives items that come and go.
type putItemFence struct {
	itemFence
	guard *dynamofence.Guard
}

func (f putItemFence) Write(ctx context.Context, s fencerow.Stamp, r fencerow.Resource, value int64) error {
	if value%2 == 0 { // either way makes an item
		return f.itemFence.Write(ctx, s, r, value)
	}
	item := f.key(r)
	item["balance"] = dynamoNumber(value)
	_, err := f.items.Put(ctx, s, r, &dynamodb.PutItemInput{Item: item})
	return err
}

// Delete implements [fencerowtest.Deleter].
func (f putItemFence) Delete(ctx context.Context, s fencerow.Stamp, r fencerow.Resource) error {
	_, err := f.items.Delete(ctx, s, r, &dynamodb.DeleteItemInput{Key: f.key(r)})
	return err
}

// Load looks at the guard where there is no item: the mark is there then.
func (f putItemFence) Load(ctx context.Context, r fencerow.Resource) (value, number int64, err error) {
	for {
		item, err := f.get(ctx, r)
		if err != nil {
			return 0, 0, err
		}
		if len(item) > 0 {
			return f.balances.Load(ctx, r)
		}
		mark, err := f.guard.Mark(ctx, r)
		if err != nil {
			return 0, 0, err
		}
		// It may have been made between the two.
		if item, err = f.get(ctx, r); err != nil || len(item) == 0 {
			return 0, mark.Number, err
		}
	}
}

func holdGuard(t *testing.T, e emulators.Emulator, store emulators.Started, keys ...string) {
	t.Parallel()
	b := newBalances(t, store)
	table := emulators.Table(t, b.client, keys...)
	open := func(ctx context.Context, client *dynamodb.Client) (fencerowtest.Fence, error) {
		guard, err := dynamofence.OpenGuard(ctx, client, table, &dynamofence.GuardOptions{MaxJump: dynamoJump})
		return guardFence{b, guard}, err
	}
	fencerowtest.TestFence(t, fencerowtest.FenceHarness{
		Name:        "dynamofence.Guard on " + e.Name,
		Open:        func(ctx context.Context) (fencerowtest.Fence, error) { return open(ctx, b.client) },
		OpenWired:   openWiredDynamo(t, store, open),
		NewResource: b.insert,
		Features:    fencerowtest.Features{Claims: true, Steps: true, Sources: true, MaxJump: dynamoJump},
		Remove:      b.remove,
		Except:      dynamoExcept(e),
	})
}

// guardFence drives a guard.
type guardFence struct {
	balances
	guard *dynamofence.Guard
}

func (f guardFence) Claim(ctx context.Context, s fencerow.Stamp, r fencerow.Resource) (int64, error) {
	out, err := f.guard.Get(ctx, s, r, &dynamodb.GetItemInput{TableName: &f.table, Key: f.key(r)})
	if err != nil {
		return 0, err
	}
	return dynamoInt(out.Item, "balance")
}

func (f guardFence) Write(ctx context.Context, s fencerow.Stamp, r fencerow.Resource, value int64) error {
	return f.guard.Transact(ctx, s, r, f.actions(r, value))
}

// actions sets the value, and all before it in items of their own: a transaction has one action for each item.
func (f guardFence) actions(r fencerow.Resource, values ...int64) *dynamodb.TransactWriteItemsInput {
	in := &dynamodb.TransactWriteItemsInput{}
	for i, value := range values {
		key := f.key(r)
		if i < len(values)-1 {
			key["id"] = dynamoText(fmt.Sprintf("%s/%d", r.ID(), i))
		}
		in.TransactItems = append(in.TransactItems, types.TransactWriteItem{Update: &types.Update{TableName: &f.table, Key: key,
			UpdateExpression: aws.String("SET balance = :b"), ExpressionAttributeValues: dynamoValue{":b": dynamoNumber(value)}}})
	}
	return in
}

// Transact implements [fencerowtest.Transactor].
func (f guardFence) Transact(ctx context.Context, s fencerow.Stamp, r fencerow.Resource, values []int64, last func(context.Context) error) error {
	return f.guard.Tx(ctx, s, r, func(ctx context.Context) (*dynamodb.TransactWriteItemsInput, error) {
		return f.actions(r, values...), last(ctx)
	})
}

func (f guardFence) half(r fencerow.Resource, name string) dynamoValue {
	return dynamoValue{"id": dynamoText(r.ID() + "/" + name)}
}

// Transfer implements [fencerowtest.Transferrer].
func (f guardFence) Transfer(ctx context.Context, s fencerow.Stamp, r fencerow.Resource, amount int64) error {
	in := &dynamodb.TransactWriteItemsInput{}
	for name, n := range map[string]int64{"first": -amount, "second": amount} {
		in.TransactItems = append(in.TransactItems, types.TransactWriteItem{Update: &types.Update{TableName: &f.table, Key: f.half(r, name),
			UpdateExpression: aws.String("ADD balance :n"), ExpressionAttributeValues: dynamoValue{":n": dynamoNumber(n)}}})
	}
	return f.guard.Transact(ctx, s, r, in)
}

// LoadPair implements [fencerowtest.Transferrer].
func (f guardFence) LoadPair(ctx context.Context, r fencerow.Resource) (first, second int64, err error) {
	out, err := f.client.TransactGetItems(ctx, &dynamodb.TransactGetItemsInput{TransactItems: []types.TransactGetItem{
		{Get: &types.Get{TableName: &f.table, Key: f.half(r, "first")}}, {Get: &types.Get{TableName: &f.table, Key: f.half(r, "second")}}}})
	if err != nil {
		return 0, 0, err
	}
	first, firstErr := dynamoInt(out.Responses[0].Item, "balance")
	second, secondErr := dynamoInt(out.Responses[1].Item, "balance")
	return first, second, errors.Join(firstErr, secondErr)
}

func (f guardFence) Load(ctx context.Context, r fencerow.Resource) (value, number int64, err error) {
	value, _, valueErr := f.balances.Load(ctx, r)
	mark, markErr := f.guard.Mark(ctx, r)
	return value, mark.Number, errors.Join(valueErr, markErr)
}
