// Package dynamofence holds dynamofence to what it says where the conformance kit does not look: faults on the way to DynamoDB, its traps,
// and input that must be refused.
package dynamofence

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
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
	"github.com/fencerow/fencerow/internal/integration/servers"
)

func TestMain(m *testing.M) { servers.Main(m) }

type item = map[string]types.AttributeValue

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
func num(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}

// hook is a transport whose requests a test may answer itself. Carry sends the request on.
type hook func(operation string, carry func() (*http.Response, error)) (*http.Response, error)

// RoundTrip implements [http.RoundTripper].
func (h hook) RoundTrip(r *http.Request) (*http.Response, error) {
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	return h(operation, func() (*http.Response, error) { return http.DefaultTransport.RoundTrip(r) })
}

// answer is a reply in the form of DynamoDB.
func answer(status int, body string) (*http.Response, error) {
	return &http.Response{StatusCode: status, Status: strconv.Itoa(status), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}}, Body: io.NopCloser(bytes.NewReader([]byte(body))),
		ContentLength: int64(len(body))}, nil
}

func refusal(code string) (*http.Response, error) {
	return answer(400, fmt.Sprintf(`{"__type":"com.amazonaws.dynamodb.v20120810#%s","message":"made by the test"}`, code))
}

// bank is a table with one account, fenced in one form.
type bank struct {
	plain  *dynamodb.Client // goes around the fence and the faults
	client *dynamodb.Client // that of the fence
	table  string
	guard  *dynamofence.Guard // nil where the store has no transactions
	items  *dynamofence.Items
}

const account = fencerow.Resource("account/42")

// newBank opens the fences over a hook, which may be nil.
func newBank(t *testing.T, e emulators.Emulator, h hook, opts *dynamofence.ItemOptions) bank {
	t.Helper()
	store := e.Start(t)
	b := bank{plain: store.Client(nil)}
	b.client = b.plain
	b.table = emulators.Table(t, b.plain, "id")
	if h != nil {
		b.client = store.Client(h)
	}
	var err error
	if b.items, err = dynamofence.OpenItems(t.Context(), b.client, b.table, opts); err != nil {
		t.Fatal(err)
	}
	if b.guard, err = dynamofence.OpenGuard(t.Context(), b.client, b.table, nil); err != nil {
		t.Fatal(err)
	}
	b.put(t, item{"id": text("42"), "balance": num(0)})
	return b
}

func (b bank) key() item { return item{"id": text("42")} }

// put goes around the fence.
func (b bank) put(t *testing.T, with item) {
	t.Helper()
	if _, err := b.plain.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &b.table, Item: with}); err != nil {
		t.Fatal(err)
	}
}

func (b bank) stored(t *testing.T) item {
	t.Helper()
	out, err := b.plain.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: &b.table, Key: b.key(), ConsistentRead: aws.Bool(true)})
	if err != nil {
		t.Fatal(err)
	}
	return out.Item
}

func (b bank) balance(t *testing.T) int64 {
	t.Helper()
	return intOf(t, b.stored(t), "balance")
}

func intOf(t *testing.T, of item, name string) int64 {
	t.Helper()
	n, ok := of[name].(*types.AttributeValueMemberN)
	if !ok {
		t.Fatalf("%s is %v", name, of[name])
	}
	value, err := strconv.ParseInt(n.Value, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return value
}

// add is an update that shows if it is applied twice.
func (b bank) add(n int64) *dynamodb.UpdateItemInput {
	return &dynamodb.UpdateItemInput{Key: b.key(), UpdateExpression: aws.String("ADD balance :n"), ExpressionAttributeValues: item{":n": num(n)}}
}

// addAction is the same in a transaction.
func (b bank) addAction(n int64) *dynamodb.TransactWriteItemsInput {
	return &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{{Update: &types.Update{TableName: &b.table, Key: b.key(),
		UpdateExpression: aws.String("ADD balance :n"), ExpressionAttributeValues: item{":n": num(n)}}}}}
}

func grant(number int64) fencerow.Token { return fencerowtest.Token("kit:1", account, number) }

func (b bank) claim(t *testing.T, token fencerow.Token) {
	t.Helper()
	if _, err := b.items.Claim(t.Context(), token.Stamp(1), account, b.key()); err != nil {
		t.Fatal(err)
	}
}

func (b bank) claimGuard(t *testing.T, token fencerow.Token) {
	t.Helper()
	if err := b.guard.Claim(t.Context(), token.Stamp(1), account); err != nil {
		t.Fatal(err)
	}
}

func want(t *testing.T, err error, verdict fencerow.Verdict, words ...string) {
	t.Helper()
	if got := fencerow.VerdictOf(err); got != verdict {
		t.Errorf("the answer is %s (%v), want %s", got, err, verdict)
		return
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%q does not say %q", err, w)
		}
	}
}
