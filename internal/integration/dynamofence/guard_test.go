package dynamofence

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/fencerow/fencerow"
	"github.com/fencerow/fencerow/fence"
	"github.com/fencerow/fencerow/fence/dynamofence"
	"github.com/fencerow/fencerow/internal/integration/dynamofence/emulators"
)

func (b bank) getAction() *dynamodb.TransactGetItemsInput {
	return &dynamodb.TransactGetItemsInput{TransactItems: []types.TransactGetItem{{Get: &types.Get{TableName: &b.table, Key: b.key()}}}}
}

// TestReadsAreBehindTheClaim has a newer holder claim between the older one's claim and its read.
func TestReadsAreBehindTheClaim(t *testing.T) {
	var between atomic.Pointer[func()]
	b := newBank(t, emulators.Minidyn, func(operation string, carry func() (*http.Response, error)) (*http.Response, error) {
		if operation == "TransactGetItems" {
			if f := between.Swap(nil); f != nil {
				(*f)()
			}
		}
		return carry()
	}, nil)
	older, newer := grant(6), grant(7)
	out, err := b.guard.TransactGet(t.Context(), older.Stamp(1), account, b.getAction())
	if err != nil || len(out.Responses) != 1 || intOf(t, out.Responses[0].Item, "balance") != 0 {
		t.Fatalf("the read returns %+v: %v", out, err)
	}
	want(t, b.guard.Transact(t.Context(), older.Stamp(1), account, b.addAction(1)), fencerow.Applied) // the read has claimed
	got, err := b.guard.Get(t.Context(), older.Stamp(1), account, &dynamodb.GetItemInput{TableName: &b.table, Key: b.key()})
	if err != nil || intOf(t, got.Item, "balance") != 1 {
		t.Fatalf("the read returns %+v: %v", got, err)
	}
	claim := func() { b.claimGuard(t, newer) }
	between.Store(&claim)
	_, err = b.guard.TransactGet(t.Context(), older.Stamp(1), account, b.getAction())
	want(t, err, fencerow.Stale, "has seen 7")
	_, err = b.guard.Get(t.Context(), older.Stamp(1), account, &dynamodb.GetItemInput{TableName: &b.table, Key: b.key()})
	want(t, err, fencerow.Stale)
}

// TestTxClaimsBeforeItReads is the order that makes a read-modify-write safe.
func TestTxClaimsBeforeItReads(t *testing.T) {
	var told []fencerow.Decision
	b := newBank(t, emulators.Minidyn, nil, nil)
	var err error
	observer := &fencerow.Observer{Decided: func(_ context.Context, d fencerow.Decision) { told = append(told, d) }}
	if b.guard, err = dynamofence.OpenGuard(t.Context(), b.client, b.table, &dynamofence.GuardOptions{Observer: observer}); err != nil {
		t.Fatal(err)
	}
	older, newer := grant(6), grant(7)
	b.claimGuard(t, older)
	want(t, b.guard.Transact(t.Context(), newer.Stamp(1), account, b.addAction(666)), fencerow.Unclaimed) // what it has read is not safe
	told = nil
	err = b.guard.Tx(t.Context(), newer.Stamp(1), account, func(ctx context.Context) (*dynamodb.TransactWriteItemsInput, error) {
		want(t, b.guard.Transact(ctx, older.Stamp(1), account, b.addAction(666)), fencerow.Stale)
		return b.addAction(1), nil
	})
	want(t, err, fencerow.Applied)
	var verdicts []string
	for _, d := range told {
		verdicts = append(verdicts, string(d.Operation)+" "+string(d.Verdict))
	}
	if len(verdicts) != 3 || verdicts[0] != "claim applied" || verdicts[1] != "write stale" || verdicts[2] != "write applied" {
		t.Errorf("the observer was told %v", verdicts)
	}

	mistake := errors.New("changed my mind")
	for _, build := range []func(context.Context) (*dynamodb.TransactWriteItemsInput, error){
		func(context.Context) (*dynamodb.TransactWriteItemsInput, error) { return b.addAction(666), mistake },
		func(context.Context) (*dynamodb.TransactWriteItemsInput, error) { return nil, nil },
		func(context.Context) (*dynamodb.TransactWriteItemsInput, error) {
			return &dynamodb.TransactWriteItemsInput{}, nil
		},
	} {
		if err := b.guard.Tx(t.Context(), newer.Stamp(2), account, build); err != nil && err != mistake {
			t.Error(err)
		}
	}
	want(t, b.guard.Transact(t.Context(), newer.Stamp(2), account, b.addAction(1)), fencerow.Applied) // it was not used up
	if balance := b.balance(t); balance != 2 {
		t.Errorf("the balance is %d, want 2", balance)
	}
}

// bodies records the transactions that are sent.
type bodies struct{ sent []string }

// RoundTrip implements [http.RoundTripper].
func (b *bodies) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	if strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".TransactWriteItems") {
		b.sent = append(b.sent, string(body))
	}
	return http.DefaultTransport.RoundTrip(r)
}

// TestClientRequestTokenIsReplaced: DynamoDB would call a second transaction with the same one applied, and does so for ten minutes only.
func TestClientRequestTokenIsReplaced(t *testing.T) {
	b := newBank(t, emulators.Minidyn, nil, nil)
	recorded := &bodies{}
	client := emulators.Started{Endpoint: *b.plain.Options().BaseEndpoint}.Client(recorded)
	guard, err := dynamofence.OpenGuard(t.Context(), client, b.table, nil)
	if err != nil {
		t.Fatal(err)
	}
	holder := grant(7)
	b.claimGuard(t, holder)
	in := b.addAction(1)
	in.ClientRequestToken = aws.String("mine")
	want(t, guard.Transact(t.Context(), holder.Stamp(1), account, in), fencerow.Applied)
	want(t, guard.Transact(t.Context(), holder.Stamp(1), account, in), fencerow.Duplicate)
	want(t, guard.Transact(t.Context(), holder.Stamp(2), account, in), fencerow.Applied)
	if len(recorded.sent) != 3 || strings.Contains(strings.Join(recorded.sent, " "), `"mine"`) {
		t.Errorf("what was sent is %v", recorded.sent)
	}
	if aws.ToString(in.ClientRequestToken) != "mine" || len(in.TransactItems) != 1 {
		t.Errorf("the caller's input was changed: %+v", in)
	}
	if balance := b.balance(t); balance != 2 {
		t.Errorf("the balance is %d, want 2", balance)
	}
}

// TestNinetyNineActions fit beside the guard.
func TestNinetyNineActions(t *testing.T) {
	b := newBank(t, emulators.Minidyn, nil, nil)
	holder := grant(7)
	b.claimGuard(t, holder)
	in := &dynamodb.TransactWriteItemsInput{}
	for i := range int64(99) {
		in.TransactItems = append(in.TransactItems, types.TransactWriteItem{Put: &types.Put{TableName: &b.table, Item: item{"id": text("n" + string(rune('a'+i)))}}})
	}
	want(t, b.guard.Transact(t.Context(), holder.Stamp(1), account, in), fencerow.Applied)
}

func TestOverride(t *testing.T) {
	var lose atomic.Int32
	b := newBank(t, emulators.Minidyn, func(operation string, carry func() (*http.Response, error)) (*http.Response, error) {
		response, err := carry()
		if operation == "TransactWriteItems" && lose.Add(-1) >= 0 && err == nil {
			_ = response.Body.Close()
			return nil, io.ErrUnexpectedEOF
		}
		return response, err
	}, nil)
	poisoned, real := grant(1_700_000_000_000), grant(8)
	want(t, b.guard.Override(t.Context(), account, fence.Override{Number: 5, By: "ada", Why: "test"}), fencerow.Failed, "no source yet")
	b.claimGuard(t, poisoned)
	want(t, b.guard.Claim(t.Context(), real.Stamp(1), account), fencerow.Stale)

	lose.Store(1) // the first answer
	want(t, b.guard.Override(t.Context(), account, fence.Override{Number: 7, By: "ada", Why: "a timestamp was taken for a token"}), fencerow.Applied)
	mark, err := b.guard.Mark(t.Context(), account)
	if err != nil || mark.Number != 7 || mark.GrantID != fence.OverrideGrant || mark.Source != "kit:1" {
		t.Errorf("the mark is %+v: %v", mark, err)
	}
	want(t, b.guard.Transact(t.Context(), poisoned.Stamp(1), account, b.addAction(666)), fencerow.Unclaimed)
	want(t, b.guard.Claim(t.Context(), grant(7).Stamp(1), account), fencerow.TokenReused)
	b.claimGuard(t, real)
	want(t, b.guard.Override(t.Context(), account, fence.Override{Number: 20, Source: "kit:2", By: "bob", Why: "moved"}), fencerow.Applied)
	want(t, b.guard.Transact(t.Context(), real.Stamp(1), account, b.addAction(666)), fencerow.SourceMismatch)

	list, err := b.guard.Overrides(t.Context(), account)
	if err != nil || len(list) != 2 {
		t.Fatalf("there are %d records: %+v: %v", len(list), list, err)
	}
	first, second := list[0], list[1]
	if first.OldNumber != 1_700_000_000_000 || first.OldSource != "kit:1" || first.Number != 7 || first.By != "ada" || first.Source != "kit:1" || first.At.IsZero() {
		t.Errorf("the first record is %+v", first)
	}
	if second.OldNumber != 8 || second.Source != "kit:2" || second.Number != 20 || second.Why != "moved" {
		t.Errorf("the second record is %+v", second)
	}
}

// TestOverrideDoesNotPassAHolder has a holder write between the look and the override.
func TestOverrideDoesNotPassAHolder(t *testing.T) {
	var armed atomic.Bool
	var b bank
	holder := grant(7)
	b = newBank(t, emulators.Minidyn, func(operation string, carry func() (*http.Response, error)) (*http.Response, error) {
		if operation == "TransactWriteItems" && armed.CompareAndSwap(true, false) {
			want(t, b.guard.Transact(t.Context(), holder.Stamp(1), account, b.addAction(1)), fencerow.Applied)
		}
		return carry()
	}, nil)
	b.claimGuard(t, holder)
	armed.Store(true)
	want(t, b.guard.Override(t.Context(), account, fence.Override{Number: 9, By: "ada", Why: "test"}), fencerow.Applied)
	list, err := b.guard.Overrides(t.Context(), account)
	if err != nil || len(list) != 1 || b.balance(t) != 1 {
		t.Errorf("there are %+v: %v, and the balance is %d", list, err, b.balance(t))
	}
	want(t, b.guard.Transact(t.Context(), holder.Stamp(2), account, b.addAction(1)), fencerow.Stale)
}
