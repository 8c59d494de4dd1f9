package dynamofence

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/fencerow/fencerow"
	"github.com/fencerow/fencerow/fence/dynamofence"
	"github.com/fencerow/fencerow/internal/integration/dynamofence/emulators"
)

// cancelled is the body of a transaction that was cancelled, with the reasons.
func cancelled(reasons ...string) string {
	return fmt.Sprintf(`{"__type":"com.amazonaws.dynamodb.v20120810#TransactionCanceledException","Message":"Transaction cancelled","CancellationReasons":[%s]}`,
		strings.Join(reasons, ","))
}

// TestReasonsAreReadByPosition answers in the name of the store: the emulators give one reason at a time, and none has conflicts.
func TestReasonsAreReadByPosition(t *testing.T) {
	const (
		none     = `{"Code":"None"}`
		newer    = `{"Code":"ConditionalCheckFailed","Item":{"id":{"S":"x"},"fence_token":{"N":"8"},"fence_step":{"N":"0"},"fence_grant":{"S":"g"},"fence_source":{"S":"kit:1"}}}`
		older    = `{"Code":"ConditionalCheckFailed","Item":{"id":{"S":"x"},"fence_token":{"N":"6"},"fence_step":{"N":"3"},"fence_grant":{"S":"g"},"fence_source":{"S":"kit:1"}}}`
		twin     = `{"Code":"ConditionalCheckFailed","Item":{"id":{"S":"x"},"fence_token":{"N":"7"},"fence_step":{"N":"0"},"fence_grant":{"S":"g"},"fence_source":{"S":"kit:1"}}}`
		foreign  = `{"Code":"ConditionalCheckFailed","Item":{"id":{"S":"x"},"fence_token":{"N":"7"},"fence_source":{"S":"kit:2"}}}`
		broken   = `{"Code":"ConditionalCheckFailed","Item":{"id":{"S":"x"},"fence_token":{"S":"7"}}}`
		own      = `{"Code":"ConditionalCheckFailed","Item":{"id":{"S":"42"},"balance":{"N":"5"}}}`
		conflict = `{"Code":"TransactionConflict"}`
	)
	for name, c := range map[string]struct {
		body    string
		verdict fencerow.Verdict
		words   string
		action  int // of a rejection
	}{
		"the guard: a newer holder":           {cancelled(newer, none, none), fencerow.Stale, "has seen 8", 0},
		"the guard: not claimed":              {cancelled(older, none, none), fencerow.Unclaimed, "stores 6", 0},
		"the guard: the number of another":    {cancelled(twin, none, none), fencerow.TokenReused, "issued twice", 0},
		"the guard: another source":           {cancelled(foreign, none, none), fencerow.SourceMismatch, "kit:2", 0},
		"the guard: not a mark":               {cancelled(broken, none, none), fencerow.Unfenced, "the text", 0},
		"the caller's first condition":        {cancelled(none, own, none), fencerow.Rejected, "action 0", 0},
		"the caller's second condition":       {cancelled(none, none, own), fencerow.Rejected, "action 1", 1},
		"both, the guard is what matters":     {cancelled(newer, own, own), fencerow.Stale, "has seen 8", 0},
		"a conflict at the guard":             {cancelled(conflict, none, none), fencerow.Conflict, "the guard", 0},
		"a conflict at an action":             {cancelled(none, none, conflict), fencerow.Conflict, "action 1", 0},
		"a conflict beside a refusal":         {cancelled(newer, none, conflict), fencerow.Conflict, "action 1", 0},
		"a conflict beside a condition":       {cancelled(none, own, conflict), fencerow.Conflict, "action 1", 0},
		"throttled":                           {cancelled(none, `{"Code":"ThrottlingError"}`, none), fencerow.Conflict, "action 0", 0},
		"too much for the table":              {cancelled(none, `{"Code":"ProvisionedThroughputExceeded"}`, none), fencerow.Conflict, "action 0", 0},
		"not a valid action":                  {cancelled(none, none, `{"Code":"ValidationError","Message":"no such operand"}`), fencerow.Failed, "no such operand", 0},
		"a collection that is full":           {cancelled(none, `{"Code":"ItemCollectionSizeLimitExceeded"}`, none), fencerow.Failed, "action 0", 0},
		"no reasons":                          {`{"__type":"TransactionCanceledException","Message":"Transaction cancelled [ConditionalCheckFailed, None, None]"}`, fencerow.Ambiguous, "0 reasons", 0},
		"reasons for other actions than ours": {cancelled(newer, none), fencerow.Ambiguous, "2 reasons", 0},
		"only None":                           {cancelled(none, none, none), fencerow.Ambiguous, "without a reason", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var armed atomic.Bool
			b := newBank(t, emulators.Minidyn, func(operation string, carry func() (*http.Response, error)) (*http.Response, error) {
				if armed.Load() && operation == "TransactWriteItems" {
					return answer(400, c.body)
				}
				return carry()
			}, nil)
			in := b.addAction(1)
			in.TransactItems = append(in.TransactItems, types.TransactWriteItem{Put: &types.Put{TableName: &b.table, Item: item{"id": text("43")}}})
			b.claimGuard(t, grant(7))
			armed.Store(true)
			err := b.guard.Transact(t.Context(), grant(7).Stamp(1), account, in)
			want(t, err, c.verdict, c.words)
			var rejected *dynamofence.RejectedError
			if errors.As(err, &rejected) && (rejected.Action != c.action || rejected.Item["balance"] == nil) {
				t.Errorf("the rejection is of action %d, with the item %v", rejected.Action, rejected.Item)
			}
		})
	}
}

// TestOwnConditionInATransaction does the same with a store.
func TestOwnConditionInATransaction(t *testing.T) {
	b := newBank(t, emulators.Minidyn, nil, nil)
	holder := grant(7)
	b.claimGuard(t, holder)
	in := b.addAction(1)
	in.TransactItems[0].Update.ConditionExpression = aws.String("balance > :n")
	in.TransactItems[0].Update.ReturnValuesOnConditionCheckFailure = types.ReturnValuesOnConditionCheckFailureAllOld
	err := b.guard.Transact(t.Context(), holder.Stamp(1), account, in)
	want(t, err, fencerow.Rejected, "action 0")
	var rejected *dynamofence.RejectedError
	if !errors.As(err, &rejected) || rejected.Item["balance"] == nil {
		t.Errorf("the item is missing from %#v", rejected)
	}
	want(t, b.guard.Transact(t.Context(), holder.Stamp(1), account, b.addAction(1)), fencerow.Applied) // the stamp is not used up
	want(t, b.guard.Transact(t.Context(), grant(6).Stamp(9), account, in), fencerow.Stale)             // even if both are false
	want(t, b.guard.Transact(t.Context(), holder.Stamp(1), account, in), fencerow.Duplicate)
}
