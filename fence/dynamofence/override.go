package dynamofence

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/fencerow/fencerow"
	"github.com/fencerow/fencerow/fence"
)

// Overridden is one override, as the table of the guard has recorded it.
type Overridden struct {
	fence.Override
	OldSource string
	OldNumber int64
	At        time.Time // by the clock of the one who did it
}

// Override sets the mark of a resource in the guard by hand, in one transaction with a record of who did so and why in an item beside
// it. From then on only numbers above it are admitted. See [fence.Override] for when to do that. It does not change the mark in an item
// of [Items] that is there.
func (g *Guard) Override(ctx context.Context, resource fencerow.Resource, o fence.Override) error {
	if err := resource.Validate(); err != nil {
		return err
	}
	if err := o.Check(); err != nil {
		return err
	}
	id := rand.Text()
	what := "override the mark of " + string(resource)
	return fence.Resolve(ctx, true, func() error { return g.override(ctx, what, resource, o, id) })
}

// override makes one attempt. The mark is read before the records: an earlier attempt that comes late is found in them, or changes the
// mark that the transaction demands.
func (g *Guard) override(ctx context.Context, what string, resource fencerow.Resource, o fence.Override, id string) error {
	stored, err := g.table.get(ctx, g.key(markItem, resource))
	if err != nil {
		return reading(what, err)
	}
	records, err := g.records(ctx, resource)
	if err != nil {
		return reading(what, err)
	}
	for _, r := range records {
		if r.text("id") == id {
			return nil
		}
	}
	// A mark that is not ours is no hindrance: this is how it is put right.
	before, _ := g.opts.Attributes.markOf(resource, stored)
	if before.Source == "" && o.Source == "" {
		return fmt.Errorf("fence: override: the guard of %s has no source yet, say which it is to follow", resource)
	}
	after := o.Replace(before)
	one := record{"id": text(id), "old_source": text(before.Source), "old_number": number(before.Number), "source": text(after.Source),
		"number": number(after.Number), "by": text(o.By), "why": text(o.Why), "at": text(time.Now().UTC().Format(time.RFC3339Nano))}
	c := &call{}
	_, err = g.table.client.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
		{Update: g.update(resource, g.opts.Attributes.clause().same(stored).record(after))},
		{Update: g.append(resource, one)},
	}}, c.once)
	var cancelled *types.TransactionCanceledException
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &cancelled):
		return c.failed(what, err)
	case len(cancelled.CancellationReasons) == 0:
		return fmt.Errorf("%w: dynamofence: %s: %w", fencerow.ErrAmbiguous, what, err)
	}
	for _, reason := range cancelled.CancellationReasons {
		if code := aws.ToString(reason.Code); code == conditionCode || busy[code] {
			return fmt.Errorf("%w: dynamofence: %s: a holder or another operator was at the guard: %w", fencerow.ErrConflict, what, err)
		}
	}
	return fmt.Errorf("dynamofence: %s: %w", what, err)
}

// record is one override as it is stored.
type record item

func (r record) text(name string) string {
	switch v := r[name].(type) {
	case *types.AttributeValueMemberS:
		return v.Value
	case *types.AttributeValueMemberN:
		return v.Value
	}
	return ""
}

const recordsAttribute = "overrides"

// append is the action that adds a record to the list.
func (g *Guard) append(resource fencerow.Resource, r record) *types.Update {
	set := "SET #o = list_append(if_not_exists(#o, :none), :one)"
	return &types.Update{
		TableName: &g.table.name, Key: g.key(overridesItem, resource), UpdateExpression: &set,
		ExpressionAttributeNames: map[string]string{"#o": recordsAttribute},
		ExpressionAttributeValues: item{
			":none": &types.AttributeValueMemberL{Value: []types.AttributeValue{}},
			":one":  &types.AttributeValueMemberL{Value: []types.AttributeValue{&types.AttributeValueMemberM{Value: r}}},
		},
	}
}

func (g *Guard) records(ctx context.Context, resource fencerow.Resource) (records []record, err error) {
	stored, err := g.table.get(ctx, g.key(overridesItem, resource))
	if err != nil {
		return nil, err
	}
	list, _ := stored[recordsAttribute].(*types.AttributeValueMemberL)
	if list == nil {
		return nil, nil
	}
	for _, value := range list.Value {
		if m, ok := value.(*types.AttributeValueMemberM); ok {
			records = append(records, m.Value)
		}
	}
	return records, nil
}

// Overrides returns the overrides of a resource, the oldest first.
func (g *Guard) Overrides(ctx context.Context, resource fencerow.Resource) ([]Overridden, error) {
	records, err := g.records(ctx, resource)
	if err != nil {
		return nil, fmt.Errorf("dynamofence: list the overrides of %s: %w", resource, err)
	}
	var found []Overridden
	for _, r := range records {
		o := Overridden{OldSource: r.text("old_source")}
		o.Source, o.By, o.Why = r.text("source"), r.text("by"), r.text("why")
		var oldErr, newErr, atErr error
		o.OldNumber, oldErr = strconv.ParseInt(r.text("old_number"), 10, 64)
		o.Number, newErr = strconv.ParseInt(r.text("number"), 10, 64)
		o.At, atErr = time.Parse(time.RFC3339Nano, r.text("at"))
		if err := errors.Join(oldErr, newErr, atErr); err != nil {
			return nil, fmt.Errorf("dynamofence: an override of %s is not of a fence: %w", resource, err)
		}
		found = append(found, o)
	}
	return found, nil
}
