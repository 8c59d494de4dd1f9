package dynamofence

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/fencerow/fencerow"
	"github.com/fencerow/fencerow/fence"
	"github.com/fencerow/fencerow/fence/dynamofence"
	"github.com/fencerow/fencerow/fencerowtest"
	"github.com/fencerow/fencerow/internal/integration/dynamofence/emulators"
)

func TestTableThatIsNotThere(t *testing.T) {
	everywhere(t, func(t *testing.T, e emulators.Emulator) {
		client := e.Start(t).Client(nil)
		_, err := dynamofence.OpenGuard(t.Context(), client, "nowhere", nil)
		want(t, err, fencerow.Failed, "nowhere does not exist", "create it")
		_, err = dynamofence.OpenItems(t.Context(), client, "nowhere", nil)
		want(t, err, fencerow.Failed, "nowhere does not exist", "create it")
	})
}

// TestTablesThatForget answers in the name of the store, as no emulator here has a time to live or replicas.
func TestTablesThatForget(t *testing.T) {
	const schema = `"TableName":"t","KeySchema":[{"AttributeName":"id","KeyType":"HASH"}]`
	describe := `{"Table":{` + schema + `}}`
	expiry := `{"TimeToLiveDescription":{"TimeToLiveStatus":"DISABLED"}}`
	open := func(t *testing.T, describe, expiry string, allow bool) []error {
		client := emulators.Started{Endpoint: "http://127.0.0.1:1"}.Client(hook(func(operation string, _ func() (*http.Response, error)) (*http.Response, error) {
			switch operation {
			case "DescribeTable":
				return answer(200, describe)
			case "DescribeTimeToLive":
				if expiry == "" {
					return refusal("AccessDeniedException")
				}
				return answer(200, expiry)
			}
			return nil, errors.New("not expected: " + operation)
		}))
		_, guardErr := dynamofence.OpenGuard(t.Context(), client, "t", &dynamofence.GuardOptions{AllowReplicas: allow})
		_, itemsErr := dynamofence.OpenItems(t.Context(), client, "t", &dynamofence.ItemOptions{AllowReplicas: allow})
		return []error{guardErr, itemsErr}
	}
	replicas := `,"Replicas":[{"RegionName":"eu-west-1"}]`
	for name, c := range map[string]struct {
		describe, expiry string
		allow            bool
		words            string // "" if it opens
	}{
		"one that keeps all":       {describe: describe, expiry: expiry},
		"a time to live":           {describe: describe, expiry: `{"TimeToLiveDescription":{"TimeToLiveStatus":"ENABLED","AttributeName":"ttl"}}`, words: "time to live, by the attribute ttl"},
		"one that begins":          {describe: describe, expiry: `{"TimeToLiveDescription":{"TimeToLiveStatus":"ENABLING","AttributeName":"ttl"}}`, words: "time to live"},
		"no right to look":         {describe: describe, words: "dynamodb:DescribeTimeToLive"},
		"replicas":                 {describe: `{"Table":{` + schema + replicas + `}}`, expiry: expiry, words: "global table"},
		"replicas, one is written": {describe: `{"Table":{` + schema + replicas + `}}`, expiry: expiry, allow: true},
		"replicas that agree":      {describe: `{"Table":{` + schema + replicas + `,"MultiRegionConsistency":"STRONG"}}`, expiry: expiry},
		"no key":                   {describe: `{"Table":{"TableName":"t"}}`, expiry: expiry, words: "no partition key"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, err := range open(t, c.describe, c.expiry, c.allow) {
				if (err == nil) != (c.words == "") || err != nil && !strings.Contains(err.Error(), c.words) {
					t.Errorf("the answer is %v, want %q", err, c.words)
				}
			}
		})
	}
}

func TestOptionsThatCannotBe(t *testing.T) {
	client := emulators.Dynalite.Start(t).Client(nil)
	table := emulators.Table(t, client, "id")
	for name, opts := range map[string]*dynamofence.GuardOptions{
		"named twice":          {Attributes: dynamofence.Attributes{Token: "x", Step: "x"}},
		"must not be negative": {MaxJump: -1},
		"is a key":             {Attributes: dynamofence.Attributes{Source: "id"}},
	} {
		_, err := dynamofence.OpenGuard(t.Context(), client, table, opts)
		want(t, err, fencerow.Failed, name)
		_, err = dynamofence.OpenItems(t.Context(), client, table, &dynamofence.ItemOptions{Attributes: opts.Attributes, MaxJump: opts.MaxJump})
		want(t, err, fencerow.Failed, name)
	}
	_, err := dynamofence.OpenGuard(t.Context(), nil, table, nil)
	want(t, err, fencerow.Failed, "client")
	_, err = dynamofence.OpenItems(t.Context(), client, "", nil)
	want(t, err, fencerow.Failed, "name of a table")
	numbered := "numbered"
	_, err = client.CreateTable(t.Context(), &dynamodb.CreateTableInput{TableName: &numbered, BillingMode: types.BillingModePayPerRequest,
		KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("id"), KeyType: types.KeyTypeHash}},
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("id"), AttributeType: types.ScalarAttributeTypeN}}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = dynamofence.OpenGuard(t.Context(), client, numbered, nil)
	want(t, err, fencerow.Failed, "need a text")
}

// TestMarksThatAreNotOurs is on the emulator that compares values of two types as DynamoDB does.
func TestMarksThatAreNotOurs(t *testing.T) {
	b := newBank(t, emulators.Dynalite, nil, nil)
	for name, mark := range map[string]item{
		"the text":       {"fence_token": text("7")},
		"NULL":           {"fence_token": &types.AttributeValueMemberNULL{Value: true}},
		"the number":     {"fence_token": &types.AttributeValueMemberN{Value: "99999999999999999999999"}},
		"number 7.5":     {"fence_token": &types.AttributeValueMemberN{Value: "7.5"}, "fence_grant": text("x"), "fence_source": text("kit:1")},
		"the type":       {"fence_source": &types.AttributeValueMemberBOOL{Value: true}},
		"fence_source":   {"fence_source": num(1)},
		"not of a fence": {"fence_token": num(7), "fence_grant": num(7)},
	} {
		with := item{"id": text("42"), "balance": num(0)}
		for k, v := range mark {
			with[k] = v
		}
		b.put(t, with)
		_, err := b.items.Update(t.Context(), grant(7).Stamp(1), account, b.add(666))
		want(t, err, fencerow.Unfenced, name)
		_, err = b.items.Claim(t.Context(), grant(7).Stamp(1), account, b.key())
		want(t, err, fencerow.Unfenced, name)
		if balance := b.balance(t); balance != 0 {
			t.Errorf("%s: the balance is %d", name, balance)
		}
	}
	// An item from before the fence has no mark at all.
	b.put(t, item{"id": text("42"), "balance": num(0)})
	b.claim(t, grant(7))
}

// TestGuardComparesIntegers is on the emulator with exact numbers, which has no transactions: the claim needs none.
func TestGuardComparesIntegers(t *testing.T) {
	b := newBank(t, emulators.Dynalite, nil, nil)
	for _, n := range []int64{1<<53 + 1, 1<<62 + 1, 1<<63 - 1} {
		older, newer := grant(n-1), grant(n)
		b.claimGuard(t, older)
		b.claimGuard(t, newer)
		want(t, b.guard.Claim(t.Context(), older.Stamp(1), account), fencerow.Stale)
		mark, err := b.guard.Mark(t.Context(), account)
		if err != nil || mark != fence.ClaimOf(newer) {
			t.Errorf("the mark is %+v: %v", mark, err)
		}
	}
}

func TestWritesThatAreRefusedBeforeTheyAreSent(t *testing.T) {
	sent := 0
	b := newBank(t, emulators.Minidyn, func(operation string, carry func() (*http.Response, error)) (*http.Response, error) {
		if writes[operation] {
			sent++
		}
		return carry()
	}, &dynamofence.ItemOptions{Resource: func(key map[string]types.AttributeValue) (fencerow.Resource, error) {
		id, ok := key["id"].(*types.AttributeValueMemberS)
		if !ok {
			return "", errors.New("the key is not a text")
		}
		return fencerow.Resource("account/" + id.Value), nil
	}})
	other := "other"
	update := func(change func(*dynamodb.UpdateItemInput)) func() error {
		return func() error {
			in := b.add(1)
			change(in)
			_, err := b.items.Update(t.Context(), grant(7).Stamp(1), account, in)
			return err
		}
	}
	put := func(change func(*dynamodb.PutItemInput)) func() error {
		return func() error {
			in := &dynamodb.PutItemInput{Item: b.key()}
			change(in)
			_, err := b.items.Put(t.Context(), grant(7).Stamp(1), account, in)
			return err
		}
	}
	transact := func(in *dynamodb.TransactWriteItemsInput) func() error {
		return func() error { return b.guard.Transact(t.Context(), grant(7).Stamp(1), account, in) }
	}
	many := &dynamodb.TransactWriteItemsInput{TransactItems: make([]types.TransactWriteItem, 100)}
	expected := map[string]types.ExpectedAttributeValue{"balance": {Exists: aws.Bool(true)}}
	for name, c := range map[string]struct {
		write   func() error
		verdict fencerow.Verdict
		words   string
	}{
		"a name of the fence": {update(func(in *dynamodb.UpdateItemInput) {
			in.ExpressionAttributeNames = map[string]string{"#fencerow_token": "x"}
		}), fencerow.Failed, "belongs to the fence"},
		"a value of the fence":      {update(func(in *dynamodb.UpdateItemInput) { in.ExpressionAttributeValues[":fencerow_token"] = num(1) }), fencerow.Failed, "belongs to the fence"},
		"a value that is not given": {update(func(in *dynamodb.UpdateItemInput) { in.UpdateExpression = aws.String("SET balance = :fencerow_token") }), fencerow.Failed, "names of the fence"},
		"a condition on it":         {update(func(in *dynamodb.UpdateItemInput) { in.ConditionExpression = aws.String("#fencerow_token = :n") }), fencerow.Failed, "names of the fence"},
		"the mark":                  {update(func(in *dynamodb.UpdateItemInput) { in.UpdateExpression = aws.String("SET fence_token = :n") }), fencerow.Failed, "fence_token"},
		"the mark, removed": {update(func(in *dynamodb.UpdateItemInput) {
			in.UpdateExpression = aws.String("ADD balance :n REMOVE a, fence_grant")
		}), fencerow.Failed, "fence_grant"},
		"the mark, under a name": {update(func(in *dynamodb.UpdateItemInput) {
			in.UpdateExpression, in.ExpressionAttributeNames = aws.String("ADD #t :n"), map[string]string{"#t": "fence_step"}
		}), fencerow.Failed, "fence_step"},
		"the mark, in arithmetic": {update(func(in *dynamodb.UpdateItemInput) {
			in.UpdateExpression = aws.String("SET balance=balance-fence_token")
		}), fencerow.Failed, "fence_token"},
		"the mark, in a new item": {put(func(in *dynamodb.PutItemInput) { in.Item["fence_source"] = text("kit:1") }), fencerow.Failed, "fence_source"},
		"AttributeUpdates": {update(func(in *dynamodb.UpdateItemInput) {
			in.AttributeUpdates = map[string]types.AttributeValueUpdate{"balance": {Value: num(1)}}
		}), fencerow.Failed, "UpdateExpression"},
		"Expected":                   {update(func(in *dynamodb.UpdateItemInput) { in.Expected = expected }), fencerow.Failed, "ConditionExpression"},
		"ConditionalOperator":        {update(func(in *dynamodb.UpdateItemInput) { in.ConditionalOperator = types.ConditionalOperatorOr }), fencerow.Failed, "ConditionExpression"},
		"Expected in a put":          {put(func(in *dynamodb.PutItemInput) { in.Expected = expected }), fencerow.Failed, "ConditionExpression"},
		"another table":              {update(func(in *dynamodb.UpdateItemInput) { in.TableName = &other }), fencerow.Failed, "names the table other"},
		"no key":                     {update(func(in *dynamodb.UpdateItemInput) { in.Key = nil }), fencerow.Failed, "part of the key"},
		"no key in a put":            {put(func(in *dynamodb.PutItemInput) { in.Item = item{"balance": num(1)} }), fencerow.Failed, "part of the key"},
		"the item of another":        {update(func(in *dynamodb.UpdateItemInput) { in.Key = item{"id": text("43")} }), fencerow.SourceMismatch, "account/43"},
		"an item without a resource": {update(func(in *dynamodb.UpdateItemInput) { in.Key = item{"id": num(42)} }), fencerow.Failed, "not a text"},
		"no update":                  {func() error { _, err := b.items.Update(t.Context(), grant(7).Stamp(1), account, nil); return err }, fencerow.Failed, "nil"},
		"no put":                     {func() error { _, err := b.items.Put(t.Context(), grant(7).Stamp(1), account, nil); return err }, fencerow.Failed, "nil"},
		"no transaction":             {transact(nil), fencerow.Failed, "1 to 99"},
		"no action":                  {transact(&dynamodb.TransactWriteItemsInput{}), fencerow.Failed, "1 to 99"},
		"100 actions":                {transact(many), fencerow.Failed, "1 to 99"},
		"an empty action":            {transact(&dynamodb.TransactWriteItemsInput{TransactItems: many.TransactItems[:2]}), fencerow.Failed, "action 0 is empty"},
		"a stamp of another":         {func() error { return b.guard.Claim(t.Context(), grant(7).Stamp(1), "account/43") }, fencerow.SourceMismatch, "account/43"},
		"no stamp":                   {func() error { return b.guard.Transact(t.Context(), fencerow.Stamp{}, account, b.addAction(1)) }, fencerow.Unfenced, "token"},
		"a read of nothing":          {func() error { _, err := b.guard.Get(t.Context(), grant(7).Stamp(1), account, nil); return err }, fencerow.Failed, "nil"},
		"a read of too much":         {func() error { _, err := b.guard.TransactGet(t.Context(), grant(7).Stamp(1), account, nil); return err }, fencerow.Failed, "1 to 99"},
		"a delete without a guard": {func() error {
			_, err := b.items.Delete(t.Context(), grant(7).Stamp(1), account, &dynamodb.DeleteItemInput{Key: b.key()})
			return err
		}, fencerow.Failed, "Guard"},
		"an override that says no why": {func() error { return b.guard.Override(t.Context(), account, fence.Override{Number: 1}) }, fencerow.Failed, "Why"},
	} {
		t.Run(name, func(t *testing.T) { want(t, c.write(), c.verdict, c.words) })
	}
	if sent != 0 {
		t.Errorf("%d writes were sent", sent)
	}
}

// TestCallersExpressionsStayWhole joins the fence with every clause.
func TestCallersExpressionsStayWhole(t *testing.T) {
	everywhere(t, func(t *testing.T, e emulators.Emulator) {
		b := newBank(t, e, nil, nil)
		b.put(t, item{"id": text("42"), "balance": num(1), "former": text("x"), "tags": &types.AttributeValueMemberSS{Value: []string{"a", "b"}},
			"nested": &types.AttributeValueMemberM{Value: item{"fence_token": num(1), "set": num(1)}}})
		holder := grant(7)
		b.claim(t, holder)
		tag := item{":tag": &types.AttributeValueMemberSS{Value: []string{"b"}}}
		for i, c := range []struct {
			update string
			names  map[string]string
			values item
		}{
			{"", nil, nil},
			{"SET balance = balance + :n", nil, item{":n": num(1)}},
			{"set balance = balance + :n, #s = if_not_exists(#s, :n)", map[string]string{"#s": "set"}, item{":n": num(1)}},
			{"ADD balance :n", nil, item{":n": num(1)}},
			{"REMOVE former", nil, nil},
			{"DELETE tags :tag", nil, tag},
			{"REMOVE former ADD balance :n SET note = :n DELETE tags :tag", nil, item{":n": num(1), ":tag": tag[":tag"]}},
			// The names of the fence are its own at the top of the item only.
			{"SET nested.fence_token = :n", nil, item{":n": num(2)}},
			{"SET nested . #set = :n", map[string]string{"#set": "set"}, item{":n": num(3)}},
		} {
			in := &dynamodb.UpdateItemInput{Key: b.key(), ExpressionAttributeNames: c.names, ExpressionAttributeValues: c.values, ReturnValues: types.ReturnValueAllNew}
			if c.update != "" {
				in.UpdateExpression = &c.update
			}
			out, err := b.items.Update(t.Context(), holder.Stamp(int64(i+1)), account, in)
			if err != nil {
				t.Fatalf("%q: %v", c.update, err)
			}
			if step := intOf(t, out.Attributes, "fence_step"); step != int64(i+1) {
				t.Errorf("%q: step %d is stored, want %d", c.update, step, i+1)
			}
			if len(c.values) > 2 || in.ConditionExpression != nil {
				t.Errorf("the caller's input was changed: %+v", in)
			}
		}
		stored := b.stored(t)
		if n := intOf(t, stored, "balance"); n != 5 {
			t.Errorf("the balance is %d, want 5", n)
		}
		nested := stored["nested"].(*types.AttributeValueMemberM).Value
		if intOf(t, nested, "fence_token") != 2 || intOf(t, nested, "set") != 3 || intOf(t, stored, "note") != 1 || e.Removes && stored["former"] != nil {
			t.Errorf("the item is %v", stored)
		}
		if out, err := b.items.Put(t.Context(), holder.Stamp(20), account, &dynamodb.PutItemInput{Item: item{"id": text("42"), "balance": num(9)},
			ReturnValues: types.ReturnValueAllOld, ConditionExpression: aws.String("balance = :b"), ExpressionAttributeValues: item{":b": num(5)}}); err != nil {
			t.Error(err)
		} else if len(out.Attributes) == 0 {
			t.Error("the put returns nothing")
		}
		if stored := b.stored(t); intOf(t, stored, "balance") != 9 || intOf(t, stored, "fence_step") != 20 || stored["note"] != nil {
			t.Errorf("after the put the item is %v", stored)
		}
		_, err := b.items.Put(t.Context(), holder.Stamp(21), account, &dynamodb.PutItemInput{Item: b.key(),
			ConditionExpression: aws.String("balance = :b"), ExpressionAttributeValues: item{":b": num(5)}})
		want(t, err, fencerow.Rejected)
	})
}

// TestCompositeKeys has items, and the guard items, in one table with a sort key.
func TestCompositeKeys(t *testing.T) {
	everywhere(t, func(t *testing.T, e emulators.Emulator) {
		client := e.Start(t).Client(nil)
		table := emulators.Table(t, client, "pk", "sk")
		guard, err := dynamofence.OpenGuard(t.Context(), client, table, &dynamofence.GuardOptions{Prefix: "lock#"})
		if err != nil {
			t.Fatal(err)
		}
		opts := &dynamofence.ItemOptions{Attributes: dynamofence.Attributes{Token: "t", Step: "s", Grant: "g", Source: "o"}}
		if e.Transactions {
			opts.Guard = guard
		}
		items, err := dynamofence.OpenItems(t.Context(), client, table, opts)
		if err != nil {
			t.Fatal(err)
		}
		key := func(sort string) item { return item{"pk": text("tenant"), "sk": text(sort)} }
		for _, sort := range []string{"a", "b"} {
			if _, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &table, Item: key(sort)}); err != nil {
				t.Fatal(err)
			}
		}
		a, b := fencerowtest.Token("kit:1", "invoice/a", 7), fencerowtest.Token("kit:1", "invoice/b", 9)
		for sort, token := range map[string]fencerow.Token{"a": a, "b": b} {
			resource := token.Resource()
			found, err := items.Claim(t.Context(), token.Stamp(1), resource, key(sort))
			if err != nil || intOf(t, found, "t") != token.Number() {
				t.Fatalf("the claim returns %v: %v", found, err)
			}
			_, err = items.Put(t.Context(), token.Stamp(1), resource, &dynamodb.PutItemInput{Item: key(sort)})
			want(t, err, fencerow.Applied)
			_, err = items.Update(t.Context(), token.Stamp(1), resource, &dynamodb.UpdateItemInput{Key: key(sort)})
			want(t, err, fencerow.Duplicate)
			_, err = items.Update(t.Context(), token.Stamp(2), resource, &dynamodb.UpdateItemInput{Key: item{"pk": text("tenant")}})
			want(t, err, fencerow.Failed, "sk")
			if e.Transactions {
				_, err = items.Delete(t.Context(), token.Stamp(2), resource, &dynamodb.DeleteItemInput{Key: key(sort)})
				want(t, err, fencerow.Applied)
				mark, err := guard.Mark(t.Context(), resource)
				if err != nil || mark != fence.WriteOf(token.Stamp(2)) {
					t.Errorf("the guard has %+v: %v", mark, err)
				}
			}
		}
		if err := guard.Claim(t.Context(), fencerowtest.Token("kit:1", "other/1", 3).Stamp(1), "other/1"); err != nil {
			t.Fatal(err)
		}
		out, err := client.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: &table, Key: item{"pk": text("lock#mark/other/1"), "sk": text("fencerow")}})
		if err != nil || intOf(t, out.Item, "fence_token") != 3 {
			t.Errorf("the guard item is %v: %v", out, err)
		}
	})
}
