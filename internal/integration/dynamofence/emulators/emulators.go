// Package emulators gives the tests of dynamofence something that answers like DynamoDB.
package emulators

import (
	"context"
	"crypto/rand"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/truora/minidyn/server"

	"github.com/fencerow/fencerow/internal/integration/servers"
)

// Emulator is one kind of store.
type Emulator struct {
	Name         string
	Transactions bool
	Exact        bool                     // compares numbers above 2^53
	Removes      bool                     // carries out a REMOVE beside a SET
	Start        func(testing.TB) Started // stopped with the test
}

// Started is a running store.
type Started struct {
	Endpoint string
}

// LocalJarEnv names the jar of Amazon's DynamoDB Local. Its licence binds whoever runs it, so nobody does by accident.
const LocalJarEnv = "FENCEROW_DYNAMODB_LOCAL_JAR"

// All returns the emulators that are here to be tested against.
func All() []Emulator {
	all := []Emulator{Minidyn, Dynalite}
	if jar := os.Getenv(LocalJarEnv); jar != "" {
		all = append(all, Emulator{Name: "DynamoDB Local", Transactions: true, Exact: true, Removes: true, Start: func(tb testing.TB) Started {
			tb.Helper()
			return Started{Endpoint: servers.Start(tb, func(ctx context.Context) (*servers.DynamoServer, error) {
				return servers.StartDynamoDBLocal(ctx, jar)
			}).Endpoint}
		}})
	}
	return all
}

// Minidyn runs in this process. It has transactions, compares numbers as float64, and forgets a REMOVE beside a SET.
var Minidyn = Emulator{Name: "minidyn", Transactions: true, Start: startMinidyn}

// Dynalite has exact numbers, no transactions, and returns no item when a condition fails.
var Dynalite = Emulator{Name: "dynalite", Exact: true, Removes: true, Start: func(tb testing.TB) Started {
	tb.Helper()
	return Started{Endpoint: servers.Start(tb, servers.StartDynalite).Endpoint}
}}

// startMinidyn serves one request after the other: without that its TransactGetItems reads each item at another time, and its tables are
// made without a lock.
func startMinidyn(tb testing.TB) Started {
	tb.Helper()
	var mu sync.Mutex
	store := server.NewServer()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		store.ServeHTTP(w, r)
	}))
	tb.Cleanup(s.Close)
	return Started{Endpoint: s.URL}
}

// Client returns a client of the store. A nil transport is the default one.
func (s Started) Client(transport http.RoundTripper) *dynamodb.Client {
	options := dynamodb.Options{
		Region: "eu-central-1", BaseEndpoint: &s.Endpoint,
		Credentials: credentials.NewStaticCredentialsProvider("test", "test", ""),
	}
	if transport != nil {
		options.HTTPClient = &http.Client{Transport: transport}
	}
	return dynamodb.New(options)
}

// Table makes a table with a new name. Keys are texts: the partition key, and the sort key if there is a second one.
func Table(tb testing.TB, client *dynamodb.Client, keys ...string) string {
	tb.Helper()
	name := "t-" + rand.Text()
	in := &dynamodb.CreateTableInput{TableName: &name, BillingMode: types.BillingModePayPerRequest}
	for i, key := range keys {
		kind := []types.KeyType{types.KeyTypeHash, types.KeyTypeRange}[i]
		in.KeySchema = append(in.KeySchema, types.KeySchemaElement{AttributeName: aws.String(key), KeyType: kind})
		in.AttributeDefinitions = append(in.AttributeDefinitions,
			types.AttributeDefinition{AttributeName: aws.String(key), AttributeType: types.ScalarAttributeTypeS})
	}
	if _, err := client.CreateTable(tb.Context(), in); err != nil {
		tb.Fatal(err)
	}
	return name
}
