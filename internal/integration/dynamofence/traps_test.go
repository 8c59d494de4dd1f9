package dynamofence

import (
	"errors"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/fencerow/fencerow"
	"github.com/fencerow/fencerow/fence/dynamofence"
	"github.com/fencerow/fencerow/internal/integration/dynamofence/emulators"
)

// everywhere runs a test on each emulator.
func everywhere(t *testing.T, body func(*testing.T, emulators.Emulator)) {
	t.Helper()
	for _, e := range emulators.All() {
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			body(t, e)
		})
	}
}

const handMade = "attribute_not_exists(fence_token) OR fence_token < :t"

// TestConditionMakesNoGhost is the trap: an item that is not there has no fence_token either, so that the condition of a careful person
// holds for it, and the update makes an item that nobody wanted.
func TestConditionMakesNoGhost(t *testing.T) {
	everywhere(t, func(t *testing.T, e emulators.Emulator) {
		b := newBank(t, e, nil, &dynamofence.ItemOptions{Stepped: true})
		remove := func() {
			if _, err := b.plain.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: &b.table, Key: b.key()}); err != nil {
				t.Fatal(err)
			}
		}
		remove()
		_, err := b.plain.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{TableName: &b.table, Key: b.key(),
			UpdateExpression: aws.String("SET balance = :b, fence_token = :t"), ConditionExpression: aws.String(handMade),
			ExpressionAttributeValues: item{":b": num(1), ":t": num(7)}})
		if err != nil || b.stored(t) == nil {
			t.Fatalf("by hand: %v, and the item is %v: the trap is not what this test takes it for", err, b.stored(t))
		}
		remove()
		_, err = b.items.Update(t.Context(), grant(7).Stamp(1), account, b.add(1))
		want(t, err, fencerow.Missing, b.table)
		_, err = b.items.Put(t.Context(), grant(7).Stamp(1), account, &dynamodb.PutItemInput{Item: b.key()})
		want(t, err, fencerow.Missing)
		_, err = b.items.Claim(t.Context(), grant(7).Stamp(1), account, b.key())
		want(t, err, fencerow.Missing)
		if found := b.stored(t); found != nil {
			t.Errorf("there is a ghost: %v", found)
		}
	})
}

// TestCallersOrDoesNotGoAroundTheFence is the trap: AND binds tighter than OR.
func TestCallersOrDoesNotGoAroundTheFence(t *testing.T) {
	everywhere(t, func(t *testing.T, e emulators.Emulator) {
		const own = "balance = :zero OR balance = :one"
		b := newBank(t, e, nil, nil)
		older, newer := grant(6), grant(7)
		b.claim(t, older)
		b.claim(t, newer)
		_, err := b.plain.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{TableName: &b.table, Key: b.key(),
			UpdateExpression: aws.String("SET touched = :one"), ConditionExpression: aws.String(own + " AND fence_token < :t"),
			ExpressionAttributeValues: item{":zero": num(0), ":one": num(1), ":t": num(6)}})
		if err != nil || b.stored(t)["touched"] == nil {
			t.Fatalf("by hand: %v, and the item is %v: the trap is not what this test takes it for", err, b.stored(t))
		}
		set := func(token fencerow.Token, step int64, condition string) error {
			_, err := b.items.Update(t.Context(), token.Stamp(step), account, &dynamodb.UpdateItemInput{Key: b.key(),
				UpdateExpression: aws.String("SET touched = :one"), ConditionExpression: &condition,
				ExpressionAttributeValues: item{":zero": num(0), ":one": num(1)}})
			return err
		}
		want(t, set(older, 1, own), fencerow.Stale)
		want(t, set(newer, 1, own), fencerow.Applied)
		// DynamoDB refuses a pair of parentheses within a pair.
		want(t, set(newer, 2, "("+own+")"), fencerow.Applied)
		want(t, set(newer, 3, "(balance = :zero) OR (balance = :one)"), fencerow.Applied)
		want(t, set(older, 2, "(balance = :zero) OR (balance = :one)"), fencerow.Stale)
		// What closes a pair that the caller has not opened would be outside of the fence's.
		want(t, set(older, 3, "balance = :zero) OR (balance = :one"), fencerow.Failed, "parentheses")
		want(t, set(newer, 4, "balance = :zero AND balance = :one"), fencerow.Rejected)
		want(t, set(newer, 4, own), fencerow.Applied) // what was rejected has not used the stamp up
	})
}

// TestGuardIsNoActionOfTheCaller is the trap: a transaction may have one action on an item, so that a check of the guard beside a write to
// it fails as a whole, with an error that names neither.
func TestGuardIsNoActionOfTheCaller(t *testing.T) {
	b := newBank(t, emulators.Minidyn, nil, nil)
	holder := grant(7)
	b.claimGuard(t, holder)
	guardKey := item{"id": text("fencerow/mark/account/42")}
	out, err := b.plain.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: &b.table, Key: guardKey})
	if err != nil || intOf(t, out.Item, "fence_token") != 7 {
		t.Fatalf("the guard is not at %v: %v, %v", guardKey, out, err)
	}
	_, err = b.plain.TransactWriteItems(t.Context(), &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
		{ConditionCheck: &types.ConditionCheck{TableName: &b.table, Key: guardKey, ConditionExpression: aws.String("attribute_exists(id)")}},
		{Update: &types.Update{TableName: &b.table, Key: guardKey, UpdateExpression: aws.String("SET seen = :n"), ExpressionAttributeValues: item{":n": num(1)}}},
	}})
	var api smithy.APIError
	if !errors.As(err, &api) || api.ErrorCode() != "ValidationException" {
		t.Fatalf("by hand: %v: the trap is not what this test takes it for", err)
	}
	arn := "arn:aws:dynamodb:eu-central-1:1:table/" + b.table
	for name, action := range map[string]types.TransactWriteItem{
		"check":                         {ConditionCheck: &types.ConditionCheck{TableName: &b.table, Key: guardKey, ConditionExpression: aws.String("attribute_exists(id)")}},
		"update":                        {Update: &types.Update{TableName: &b.table, Key: guardKey, UpdateExpression: aws.String("REMOVE fence_token")}},
		"delete":                        {Delete: &types.Delete{TableName: &b.table, Key: guardKey}},
		"put":                           {Put: &types.Put{TableName: &b.table, Item: guardKey}},
		"an ARN":                        {Delete: &types.Delete{TableName: &arn, Key: guardKey}},
		"the guard of another resource": {Delete: &types.Delete{TableName: &b.table, Key: item{"id": text("fencerow/mark/account/43")}}},
	} {
		in := b.addAction(1)
		in.TransactItems = append(in.TransactItems, action)
		err := b.guard.Transact(t.Context(), holder.Stamp(1), account, in)
		if fencerow.VerdictOf(err) != fencerow.Failed {
			t.Errorf("%s: %v", name, err)
		}
		want(t, err, fencerow.Failed, "action 1", "belongs to the guard")
	}
	want(t, b.guard.Transact(t.Context(), holder.Stamp(1), account, b.addAction(1)), fencerow.Applied)
}

// TestDeleteDoesNotForgetTheMark is the trap: a delete with a condition takes the mark with it, and who comes late makes the item anew.
func TestDeleteDoesNotForgetTheMark(t *testing.T) {
	b := newBank(t, emulators.Minidyn, nil, &dynamofence.ItemOptions{Stepped: true})
	newer, older := grant(8), grant(7)
	_, err := b.plain.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: &b.table, Key: b.key(), ConditionExpression: aws.String(handMade),
		ExpressionAttributeValues: item{":t": num(8)}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = b.plain.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{TableName: &b.table, Key: b.key(),
		UpdateExpression: aws.String("SET balance = :b, fence_token = :t"), ConditionExpression: aws.String(handMade),
		ExpressionAttributeValues: item{":b": num(666), ":t": num(7)}})
	if err != nil || b.balance(t) != 666 {
		t.Fatalf("by hand: %v: the trap is not what this test takes it for", err)
	}

	_, err = b.items.Delete(t.Context(), newer.Stamp(1), account, &dynamodb.DeleteItemInput{Key: b.key()})
	want(t, err, fencerow.Failed, "Guard")
	items, err := dynamofence.OpenItems(t.Context(), b.client, b.table, &dynamofence.ItemOptions{Guard: b.guard})
	if err != nil {
		t.Fatal(err)
	}
	b.put(t, item{"id": text("42"), "balance": num(0)})
	if _, err := items.Claim(t.Context(), newer.Stamp(1), account, b.key()); err != nil {
		t.Fatal(err)
	}
	_, err = items.Delete(t.Context(), older.Stamp(1), account, &dynamodb.DeleteItemInput{Key: b.key()})
	want(t, err, fencerow.Stale)
	in := &dynamodb.DeleteItemInput{Key: b.key(), ConditionExpression: aws.String("balance > :n"), ExpressionAttributeValues: item{":n": num(0)}}
	_, err = items.Delete(t.Context(), newer.Stamp(1), account, in)
	want(t, err, fencerow.Rejected)
	_, err = items.Delete(t.Context(), newer.Stamp(2), account, &dynamodb.DeleteItemInput{Key: b.key()})
	want(t, err, fencerow.Applied)
	_, err = items.Update(t.Context(), older.Stamp(1), account, b.add(666))
	want(t, err, fencerow.Stale, "has seen 8")
	_, err = items.Claim(t.Context(), older.Stamp(1), account, b.key())
	want(t, err, fencerow.Stale)
	if found := b.stored(t); found != nil {
		t.Errorf("the older holder has made the item anew: %v", found)
	}
	_, err = items.Delete(t.Context(), newer.Stamp(3), account, &dynamodb.DeleteItemInput{Key: b.key()})
	want(t, err, fencerow.Missing)
}
