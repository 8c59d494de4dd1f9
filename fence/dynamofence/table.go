package dynamofence

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// item is an item or its key.
type item = map[string]types.AttributeValue

// table is a table that may hold fence items.
type table struct {
	client    *dynamodb.Client
	name      string // as it was given, a name or an ARN
	partition string // the attribute of the partition key
	sort      string // that of the sort key, or ""
	types     map[string]types.ScalarAttributeType
}

// openTable refuses a table whose items could lose their mark.
func openTable(ctx context.Context, client *dynamodb.Client, name string, allowReplicas bool) (table, error) {
	t := table{client: client, name: name, types: map[string]types.ScalarAttributeType{}}
	if client == nil || name == "" {
		return t, errors.New("it needs a client and the name of a table")
	}
	out, err := client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &name})
	if missing := (*types.ResourceNotFoundException)(nil); errors.As(err, &missing) {
		return t, fmt.Errorf("the table %s does not exist in this account and Region; create it first: %w", name, err)
	}
	if err != nil {
		return t, fmt.Errorf("describe the table %s: %w", name, err)
	}
	for _, k := range out.Table.KeySchema {
		if k.KeyType == types.KeyTypeHash {
			t.partition = aws.ToString(k.AttributeName)
		} else {
			t.sort = aws.ToString(k.AttributeName)
		}
	}
	for _, d := range out.Table.AttributeDefinitions {
		t.types[aws.ToString(d.AttributeName)] = d.AttributeType
	}
	if t.partition == "" {
		return t, fmt.Errorf("describe the table %s: the answer names no partition key", name)
	}
	if len(out.Table.Replicas) > 0 && out.Table.MultiRegionConsistency != types.MultiRegionConsistencyStrong && !allowReplicas {
		return t, fmt.Errorf("the table %s is a global table with eventual consistency, whose replicas do not see each other's marks; "+
			"use strong consistency, or write each resource in one Region only and set AllowReplicas", name)
	}
	return t, t.refuseExpiry(ctx)
}

// refuseExpiry refuses a table whose items may expire. An emulator that does not know the question has no expiry either.
func (t table) refuseExpiry(ctx context.Context) error {
	out, err := t.client.DescribeTimeToLive(ctx, &dynamodb.DescribeTimeToLiveInput{TableName: &t.name})
	if unknownOperation(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look whether items of %s expire, which needs dynamodb:DescribeTimeToLive: %w", t.name, err)
	}
	if ttl := out.TimeToLiveDescription; ttl != nil {
		switch ttl.TimeToLiveStatus {
		case types.TimeToLiveStatusEnabled, types.TimeToLiveStatusEnabling:
			return fmt.Errorf("the table %s has a time to live, by the attribute %s: an item that expires loses its mark and lets superseded "+
				"holders in; switch it off, or use another table", t.name, aws.ToString(ttl.AttributeName))
		}
	}
	return nil
}

// unknownOperation reports whether the store says that it has no such operation. One emulator does so in plain text.
func unknownOperation(err error) bool {
	var api smithy.APIError
	if errors.As(err, &api) && api.ErrorCode() == "UnknownOperationException" {
		return true
	}
	var response *smithyhttp.ResponseError
	return errors.As(err, &response) && response.HTTPStatusCode() == 400 && !errors.As(err, &api)
}

// is reports whether a name or ARN in a request is this table.
func (t table) is(name *string) bool { return bare(aws.ToString(name)) == bare(t.name) }

// bare returns the name in an ARN, or the name itself.
func bare(name string) string {
	if strings.HasPrefix(name, "arn:") {
		if _, after, found := strings.Cut(name, ":table/"); found {
			return after
		}
	}
	return name
}

// key returns the key attributes of an item.
func (t table) key(of item) (item, error) {
	key := item{}
	for _, name := range []string{t.partition, t.sort} {
		if name == "" {
			continue
		}
		value, ok := of[name]
		if !ok {
			return nil, fmt.Errorf("the item has no %s, which is part of the key of %s", name, t.name)
		}
		key[name] = value
	}
	return key, nil
}

// get reads an item with strong consistency.
func (t table) get(ctx context.Context, key item) (item, error) {
	out, err := t.client.GetItem(ctx, &dynamodb.GetItemInput{TableName: &t.name, Key: key, ConsistentRead: aws.Bool(true)})
	if err != nil {
		return nil, err
	}
	return out.Item, nil
}
