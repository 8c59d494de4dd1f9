package dynamofence

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/fencerow/fencerow"
	"github.com/fencerow/fencerow/fence/dynamofence"
	"github.com/fencerow/fencerow/internal/integration/dynamofence/emulators"
)

// writes are the requests of which a lost answer leaves something in doubt.
var writes = map[string]bool{"UpdateItem": true, "PutItem": true, "TransactWriteItems": true}

// faulty loses half of all answers to writes, some before and some after the store has applied them.
func faulty(seed uint64, armed *atomic.Bool) hook {
	rng := rand.New(rand.NewPCG(seed, 0))
	return func(operation string, carry func() (*http.Response, error)) (*http.Response, error) {
		if !armed.Load() || !writes[operation] {
			return carry()
		}
		switch rng.IntN(8) {
		case 0: // it did not arrive
			return nil, io.ErrUnexpectedEOF
		case 1, 2: // it was applied, and the connection broke
			response, err := carry()
			if err == nil {
				_ = response.Body.Close()
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		case 3: // it was applied, and somebody in between gave up
			if response, err := carry(); err == nil {
				_ = response.Body.Close()
			}
			return answer(503, "<html>unavailable</html>")
		}
		return carry()
	}
}

// TestLostAnswersTellNoLies adds one at a time while answers are lost. What the fence says must add up to what is stored.
func TestLostAnswersTellNoLies(t *testing.T) {
	const rounds = 200
	forms := map[string]func(b bank, ctx context.Context, s fencerow.Stamp) error{
		"update": func(b bank, ctx context.Context, s fencerow.Stamp) error {
			_, err := b.items.Update(ctx, s, account, b.add(1))
			return err
		},
		"transaction": func(b bank, ctx context.Context, s fencerow.Stamp) error {
			return b.guard.Transact(ctx, s, account, b.addAction(1))
		},
		"transaction behind the claim": func(b bank, ctx context.Context, s fencerow.Stamp) error {
			return b.guard.Tx(ctx, s, account, func(context.Context) (*dynamodb.TransactWriteItemsInput, error) { return b.addAction(1), nil })
		},
	}
	for name, write := range forms {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var armed atomic.Bool
			seed := rand.Uint64()
			t.Logf("the faults are those of seed %d", seed)
			b := newBank(t, emulators.Minidyn, faulty(seed, &armed), nil)
			holder, older := grant(7), grant(6)
			b.claim(t, holder)
			b.claimGuard(t, holder)
			armed.Store(true)
			for step := int64(1); step <= rounds; step++ {
				doubt := false
				var err error
				for {
					err = write(b, t.Context(), holder.Stamp(step))
					if errors.Is(err, fencerow.ErrAmbiguous) {
						doubt = true
						continue
					}
					if err != nil && !(doubt && errors.Is(err, fencerow.ErrDuplicate)) {
						t.Fatalf("step %d of the newest holder: %v", step, err)
					}
					break
				}
				if balance := b.balance(t); balance != step {
					t.Fatalf("after step %d the balance is %d", step, balance)
				}
				for !errors.Is(err, fencerow.ErrStale) {
					// All its attempts may get lost; then it is in doubt, and sends the stamp again.
					if err = write(b, t.Context(), older.Stamp(step)); err == nil || fencerow.VerdictOf(err) == fencerow.Duplicate {
						t.Fatalf("a write of an older holder was applied: %v", err)
					}
					if !errors.Is(err, fencerow.ErrStale) && !errors.Is(err, fencerow.ErrAmbiguous) {
						t.Fatalf("a write of an older holder: %v", err)
					}
				}
			}
		})
	}
}

// TestLostAnswersOfItemsThatComeAndGo makes and deletes an item while answers are lost.
func TestLostAnswersOfItemsThatComeAndGo(t *testing.T) {
	var armed atomic.Bool
	seed := rand.Uint64()
	t.Logf("the faults are those of seed %d", seed)
	b := newBank(t, emulators.Minidyn, faulty(seed, &armed), nil)
	var err error
	if b.items, err = dynamofence.OpenItems(t.Context(), b.client, b.table, &dynamofence.ItemOptions{Guard: b.guard}); err != nil {
		t.Fatal(err)
	}
	holder := grant(7)
	b.claim(t, holder)
	armed.Store(true)
	definite := func(step int64, write func(fencerow.Stamp) error) {
		t.Helper()
		for doubt := false; ; doubt = true {
			err := write(holder.Stamp(step))
			if errors.Is(err, fencerow.ErrAmbiguous) {
				continue
			}
			if err != nil && !(doubt && errors.Is(err, fencerow.ErrDuplicate)) {
				t.Fatalf("step %d: %v", step, err)
			}
			return
		}
	}
	for step := int64(1); step <= 200; step += 2 {
		definite(step, func(s fencerow.Stamp) error {
			_, err := b.items.Delete(t.Context(), s, account, &dynamodb.DeleteItemInput{Key: b.key()})
			return err
		})
		if found := b.stored(t); found != nil {
			t.Fatalf("after it was deleted the item is %v", found)
		}
		definite(step+1, func(s fencerow.Stamp) error {
			_, err := b.items.Update(t.Context(), s, account, b.add(step))
			return err
		})
		if balance := b.balance(t); balance != step {
			t.Fatalf("after it was made the balance is %d, want %d", balance, step)
		}
	}
}

// TestSDKRetryFailsItsOwnCondition is the trap: the client sends a conditional write again by itself, and its second attempt fails at
// the condition that the first one has changed.
func TestSDKRetryFailsItsOwnCondition(t *testing.T) {
	var lose atomic.Int32
	losing := func(operation string, carry func() (*http.Response, error)) (*http.Response, error) {
		response, err := carry()
		if operation == "UpdateItem" && lose.Add(-1) >= 0 && err == nil {
			_ = response.Body.Close()
			return nil, io.ErrUnexpectedEOF
		}
		return response, err
	}
	b := newBank(t, emulators.Minidyn, losing, nil)
	lose.Store(1)
	_, err := b.client.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{TableName: &b.table, Key: b.key(),
		UpdateExpression: aws.String("SET balance = :one"), ConditionExpression: aws.String("balance = :zero"),
		ExpressionAttributeValues: item{":zero": num(0), ":one": num(1)}})
	var failed *types.ConditionalCheckFailedException
	if !errors.As(err, &failed) || b.balance(t) != 1 {
		t.Fatalf("the plain client says %v, and the balance is %d: the trap is not what this test takes it for", err, b.balance(t))
	}

	holder := grant(7)
	b.claim(t, holder)
	lose.Store(1)
	_, err = b.items.Update(t.Context(), holder.Stamp(1), account, b.add(1))
	want(t, err, fencerow.Applied)
	if balance := b.balance(t); balance != 2 {
		t.Errorf("the balance is %d, want 2", balance)
	}
}

// TestAnswersThatAreNotDefinite answers in the name of the store, because no emulator can be made to say these things.
func TestAnswersThatAreNotDefinite(t *testing.T) {
	for name, c := range map[string]struct {
		reply   func() (*http.Response, error)
		verdict fencerow.Verdict
	}{
		"InternalServerError":           {func() (*http.Response, error) { return answer(500, `{"__type":"InternalServerError"}`) }, fencerow.Ambiguous},
		"ServiceUnavailable":            {func() (*http.Response, error) { return answer(503, `{"__type":"ServiceUnavailable"}`) }, fencerow.Ambiguous},
		"503":                           {func() (*http.Response, error) { return answer(503, "") }, fencerow.Ambiguous},
		"a broken reply":                {func() (*http.Response, error) { return answer(200, `{"Attributes":`) }, fencerow.Ambiguous},
		"a page of a proxy":             {func() (*http.Response, error) { return answer(407, "<html>who are you</html>") }, fencerow.Ambiguous},
		"a broken connection":           {func() (*http.Response, error) { return nil, io.ErrUnexpectedEOF }, fencerow.Ambiguous},
		"ThrottlingException":           {func() (*http.Response, error) { return refusal("ThrottlingException") }, fencerow.Conflict},
		"too much for the table":        {func() (*http.Response, error) { return refusal("ProvisionedThroughputExceededException") }, fencerow.Conflict},
		"RequestLimitExceeded":          {func() (*http.Response, error) { return refusal("RequestLimitExceeded") }, fencerow.Conflict},
		"TransactionConflictException":  {func() (*http.Response, error) { return refusal("TransactionConflictException") }, fencerow.Conflict},
		"expired credentials":           {func() (*http.Response, error) { return refusal("ExpiredTokenException") }, fencerow.Failed},
		"no right":                      {func() (*http.Response, error) { return refusal("AccessDeniedException") }, fencerow.Failed},
		"a table that was deleted":      {func() (*http.Response, error) { return refusal("ResourceNotFoundException") }, fencerow.Failed},
		"a request that is not allowed": {func() (*http.Response, error) { return refusal("ValidationException") }, fencerow.Failed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var armed atomic.Bool
			var sent atomic.Int32
			b := newBank(t, emulators.Minidyn, func(operation string, carry func() (*http.Response, error)) (*http.Response, error) {
				if !armed.Load() || !writes[operation] {
					return carry()
				}
				sent.Add(1)
				return c.reply()
			}, nil)
			holder := grant(7)
			b.claim(t, holder)
			b.claimGuard(t, holder)
			armed.Store(true)
			for form, write := range map[string]func() error{
				"update": func() error { _, err := b.items.Update(t.Context(), holder.Stamp(1), account, b.add(1)); return err },
				"put": func() error {
					_, err := b.items.Put(t.Context(), holder.Stamp(1), account, &dynamodb.PutItemInput{Item: b.key()})
					return err
				},
				"claim": func() error {
					_, err := b.items.Claim(t.Context(), holder.Stamp(1), account, b.key())
					return err
				},
				"guard claim": func() error { return b.guard.Claim(t.Context(), holder.Stamp(1), account) },
				"transaction": func() error { return b.guard.Transact(t.Context(), holder.Stamp(1), account, b.addAction(1)) },
			} {
				sent.Store(0)
				err := write()
				if got := fencerow.VerdictOf(err); got != c.verdict {
					t.Errorf("%s: the answer is %s (%v), want %s", form, got, err, c.verdict)
				}
				if n := sent.Load(); (n > 1) != (c.verdict != fencerow.Failed) {
					t.Errorf("%s: it was sent %d times", form, n)
				}
			}
			armed.Store(false)
			if balance := b.balance(t); balance != 0 {
				t.Errorf("the balance is %d", balance)
			}
			// The stamp is not used up.
			_, err := b.items.Update(t.Context(), holder.Stamp(1), account, b.add(1))
			want(t, err, fencerow.Applied)
		})
	}
}

// TestContextThatHasEndedSendsNothing says so, instead of leaving it in doubt.
func TestContextThatHasEndedSendsNothing(t *testing.T) {
	b := newBank(t, emulators.Minidyn, nil, nil)
	holder := grant(7)
	b.claim(t, holder)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := b.items.Update(ctx, holder.Stamp(1), account, b.add(1))
	if fencerow.VerdictOf(err) != fencerow.Failed || !errors.Is(err, context.Canceled) {
		t.Errorf("the answer is %v", err)
	}
	_, err = b.items.Update(t.Context(), holder.Stamp(1), account, b.add(1))
	want(t, err, fencerow.Applied)
}

// TestConflictsPass lets the store be busy for a while.
func TestConflictsPass(t *testing.T) {
	var busy atomic.Int32
	b := newBank(t, emulators.Minidyn, func(operation string, carry func() (*http.Response, error)) (*http.Response, error) {
		if operation == "TransactWriteItems" && busy.Add(-1) >= 0 {
			return answer(400, cancelled(`{"Code":"None"}`, `{"Code":"TransactionConflict","Message":"busy"}`))
		}
		if operation == "UpdateItem" && busy.Add(-1) >= 0 {
			return refusal("ProvisionedThroughputExceededException")
		}
		return carry()
	}, nil)
	holder := grant(7)
	b.claim(t, holder)
	b.claimGuard(t, holder)
	busy.Store(3)
	want(t, b.guard.Transact(t.Context(), holder.Stamp(1), account, b.addAction(1)), fencerow.Applied)
	busy.Store(3)
	_, err := b.items.Update(t.Context(), holder.Stamp(1), account, b.add(1))
	want(t, err, fencerow.Applied)
	if balance := b.balance(t); balance != 2 {
		t.Errorf("the balance is %d, want 2", balance)
	}
}

// TestSDKOfTheCallerGoesOnRetrying keeps the options of a call from changing the client.
func TestSDKOfTheCallerGoesOnRetrying(t *testing.T) {
	b := newBank(t, emulators.Minidyn, nil, nil)
	before := len(b.client.Options().APIOptions)
	b.claim(t, grant(7))
	if after := len(b.client.Options().APIOptions); after != before {
		t.Errorf("the client has %d options, it had %d", after, before)
	}
	if attempts := b.client.Options().Retryer.MaxAttempts(); attempts < 2 {
		t.Errorf("the client makes %d attempts", attempts)
	}
}

// TestVerdictIsOfTheSameMoment is for stores that return no item with a refusal: the look that follows may see what was not so then.
func TestVerdictIsOfTheSameMoment(t *testing.T) {
	var between atomic.Pointer[func()]
	b := newBank(t, emulators.Dynalite, func(operation string, carry func() (*http.Response, error)) (*http.Response, error) {
		if operation == "GetItem" {
			if f := between.Swap(nil); f != nil {
				(*f)()
			}
		}
		return carry()
	}, nil)
	holder := grant(7)
	claim := func() { b.claim(t, holder) } // by another goroutine of the holder
	between.Store(&claim)
	in := b.add(1)
	in.ConditionExpression, in.ExpressionAttributeValues[":zero"] = aws.String("balance = :zero"), num(0)
	_, err := b.items.Update(t.Context(), holder.Stamp(1), account, in)
	want(t, err, fencerow.Applied) // it was unclaimed, and the caller's condition holds
	_, err = b.items.Update(t.Context(), holder.Stamp(2), account, in)
	want(t, err, fencerow.Rejected)
}
