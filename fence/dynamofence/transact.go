package dynamofence

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/fencerow/fencerow"
	"github.com/fencerow/fencerow/fence"
)

// Tx claims the resource, calls build, which reads what it needs and returns what to write, and sends that as [Guard.Transact] does.
// What build reads has the writes of all older holders if it reads with strong consistency, and none of theirs comes after it. If build
// returns an error nothing is sent, and the error is returned; if it returns no actions nothing is sent, and the stamp is not used up.
//
// A nil error means committed, or nothing to commit. The other errors are those of [Guard.Claim] and [Guard.Transact].
func (g *Guard) Tx(ctx context.Context, stamp fencerow.Stamp, resource fencerow.Resource, build func(context.Context) (*dynamodb.TransactWriteItemsInput, error)) error {
	err := stamp.Check(resource)
	if err == nil {
		err = g.tx(ctx, stamp, build)
	}
	return stamp.Settle(ctx, g.opts.Observer, fencerow.Write, err)
}

func (g *Guard) tx(ctx context.Context, stamp fencerow.Stamp, build func(context.Context) (*dynamodb.TransactWriteItemsInput, error)) error {
	if err := g.claimOnce(ctx, stamp); err != nil {
		return err
	}
	in, err := build(ctx)
	if err != nil || in == nil || len(in.TransactItems) == 0 {
		return err
	}
	return g.transact(ctx, stamp, in)
}

// Transact sends a transaction of up to 99 actions that only the newest holder can commit, at most once for the stamp. The guard item is
// one more action of it, so that none of the caller's may be on a guard item. ClientRequestToken is replaced: DynamoDB forgets it after
// ten minutes, and the guard does not.
//
// The grant must have claimed, before it has read what the transaction depends on, or the error is [fencerow.ErrUnclaimed]. [Guard.Tx]
// does it in this order by itself.
//
// A nil error means committed. Otherwise nothing was written, unless the error is [fencerow.ErrAmbiguous]. The errors are
// [fencerow.ErrStale], [fencerow.ErrDuplicate], [fencerow.ErrOutOfOrder], [fencerow.ErrUnclaimed], [fencerow.ErrRejected] if a condition
// of the caller did not hold, of which [*RejectedError] says which, [fencerow.ErrTokenReused], [fencerow.ErrMismatch],
// [fencerow.ErrNoToken], [fencerow.ErrUnfenced], [fencerow.ErrConflict] if the items stay contended or the table is throttled, or a
// failure of DynamoDB.
func (g *Guard) Transact(ctx context.Context, stamp fencerow.Stamp, resource fencerow.Resource, in *dynamodb.TransactWriteItemsInput) error {
	err := stamp.Check(resource)
	if err == nil {
		err = g.transact(ctx, stamp, in)
	}
	return stamp.Settle(ctx, g.opts.Observer, fencerow.Write, err)
}

func (g *Guard) transact(ctx context.Context, stamp fencerow.Stamp, in *dynamodb.TransactWriteItemsInput) error {
	if err := g.checkActions(in); err != nil {
		return fmt.Errorf("dynamofence: transaction %s: %w", stamp, err)
	}
	t := transaction{guard: g, stamp: stamp, what: "transaction " + stamp.String(), input: *in,
		pass:   g.opts.Attributes.clause().admits(fence.Claimed, stamp).record(fence.WriteOf(stamp)),
		refuse: func(m fence.Mark) error { return m.Write(fence.Claimed, stamp) },
		caller: func(_ context.Context, action int, stored item) error {
			return &RejectedError{Stamp: stamp, Action: action, Item: stored}
		},
	}
	return fence.Resolve(ctx, true, func() error { return t.send(ctx) })
}

// RejectedError is the detail of [fencerow.ErrRejected] of a transaction.
type RejectedError struct {
	Stamp  fencerow.Stamp
	Action int                             // the first one whose condition did not hold, counted from 0 in the caller's input
	Item   map[string]types.AttributeValue // as it was, if the action asks for it by ReturnValuesOnConditionCheckFailure
}

// Error names the action.
func (e *RejectedError) Error() string {
	return fmt.Sprintf("%v: dynamofence: transaction %s: the condition of action %d did not hold", fencerow.ErrRejected, e.Stamp, e.Action)
}

// Is makes errors.Is(err, fencerow.ErrRejected) true.
func (e *RejectedError) Is(target error) bool { return target == fencerow.ErrRejected }

// checkActions refuses what cannot be sent together with the guard item.
func (g *Guard) checkActions(in *dynamodb.TransactWriteItemsInput) error {
	if in == nil || len(in.TransactItems) == 0 || len(in.TransactItems) >= maxActions {
		return fmt.Errorf("it takes 1 to %d actions, the guard is one more", maxActions-1)
	}
	for i, action := range in.TransactItems {
		var name *string
		var of item
		switch {
		case action.Put != nil:
			name, of = action.Put.TableName, action.Put.Item
		case action.Update != nil:
			name, of = action.Update.TableName, action.Update.Key
		case action.Delete != nil:
			name, of = action.Delete.TableName, action.Delete.Key
		case action.ConditionCheck != nil:
			name, of = action.ConditionCheck.TableName, action.ConditionCheck.Key
		default:
			return fmt.Errorf("action %d is empty", i)
		}
		if key, ok := of[g.table.partition].(*types.AttributeValueMemberS); ok && g.table.is(name) && strings.HasPrefix(key.Value, g.opts.Prefix) {
			return fmt.Errorf("action %d is on the item %q, which belongs to the guard; only the guard writes and checks it", i, key.Value)
		}
	}
	return nil
}

// transaction is what is sent with a guard item in front.
type transaction struct {
	guard  *Guard
	stamp  fencerow.Stamp
	what   string
	input  dynamodb.TransactWriteItemsInput
	pass   *clause                // the guard's condition, and the mark that it leaves
	refuse func(fence.Mark) error // why the guard has refused, nil if it admits
	caller func(ctx context.Context, action int, stored item) error
}

// send makes one attempt. The guard goes first: its answer is about the whole, whatever else did not hold.
func (t transaction) send(ctx context.Context) error {
	in := t.input
	in.ClientRequestToken = nil // the client makes a new one
	in.TransactItems = append([]types.TransactWriteItem{{Update: t.guard.update(t.stamp.Token().Resource(), t.pass)}}, t.input.TransactItems...)
	c := &call{}
	_, err := t.guard.table.client.TransactWriteItems(ctx, &in, c.once)
	if err == nil {
		return nil
	}
	var cancelled *types.TransactionCanceledException
	if !errors.As(err, &cancelled) {
		return c.failed(t.what, err)
	}
	return t.cancelled(ctx, len(in.TransactItems), cancelled)
}

// cancelled reads the reasons, of which there is one for each action, in their order. A conflict goes first, because it says nothing
// about the conditions.
func (t transaction) cancelled(ctx context.Context, actions int, err *types.TransactionCanceledException) error {
	if len(err.CancellationReasons) != actions {
		return fmt.Errorf("%w: dynamofence: %s: %d reasons came for %d actions: %w", fencerow.ErrAmbiguous, t.what, len(err.CancellationReasons), actions, err)
	}
	if conflict := conflicting(t.what, err); conflict != nil {
		return conflict
	}
	for i, reason := range err.CancellationReasons {
		if aws.ToString(reason.Code) != conditionCode {
			continue
		}
		if i > 0 {
			return t.caller(ctx, i-1, reason.Item)
		}
		m, err := t.guard.stored(ctx, t.what, t.stamp.Token().Resource(), reason.Item)
		if err != nil {
			return err
		}
		if err := t.refuse(m); err != nil {
			return err
		}
		return changed(t.what, reason.Item)
	}
	for i, reason := range err.CancellationReasons {
		if code := aws.ToString(reason.Code); code != "" && code != noReason {
			return fmt.Errorf("dynamofence: %s: %s is refused, %s: %s: %w", t.what, actionName(i), code, aws.ToString(reason.Message), err)
		}
	}
	return fmt.Errorf("%w: dynamofence: %s: it was cancelled without a reason: %w", fencerow.ErrAmbiguous, t.what, err)
}

// The codes of a reason that are not failures. Actions that did not cause the end have none, or "None".
const (
	noReason      = "None"
	conditionCode = "ConditionalCheckFailed"
)

// conflicting returns a conflict if any of the reasons is one.
func conflicting(what string, err *types.TransactionCanceledException) error {
	for i, reason := range err.CancellationReasons {
		if busy[aws.ToString(reason.Code)] {
			return fmt.Errorf("%w: dynamofence: %s: %s: %s: %w", fencerow.ErrConflict, what, actionName(i), aws.ToString(reason.Code), err)
		}
	}
	return nil
}

func actionName(i int) string {
	if i == 0 {
		return "the guard"
	}
	return fmt.Sprintf("action %d", i-1)
}

// cancelledRead reads the reasons of a read, which may be made again if there are none.
func cancelledRead(what string, err *types.TransactionCanceledException) error {
	if conflict := conflicting(what, err); conflict != nil {
		return conflict
	}
	if len(err.CancellationReasons) == 0 {
		return fmt.Errorf("%w: dynamofence: %s: %w", fencerow.ErrConflict, what, err)
	}
	return fmt.Errorf("dynamofence: %s: %w", what, err)
}
