package dynamofence

import (
	"fmt"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/fencerow/fencerow"
	"github.com/fencerow/fencerow/fence"
)

// markOf reads the mark of an item. One without the attributes has the mark 0; what is not ours in them is [fencerow.ErrUnfenced].
func (a Attributes) markOf(resource fencerow.Resource, of item) (m fence.Mark, err error) {
	unfenced := func(name string, value types.AttributeValue) error {
		return fmt.Errorf("%w: %s: the attribute %s of its item is %s, which is not of a fence; put it right by hand",
			fencerow.ErrUnfenced, resource, name, describe(value))
	}
	for _, part := range []struct {
		name string
		into *int64
	}{{a.Token, &m.Number}, {a.Step, &m.Step}} {
		value, ok := of[part.name]
		if !ok {
			continue
		}
		n, ok := value.(*types.AttributeValueMemberN)
		if !ok {
			return m, unfenced(part.name, value)
		}
		if *part.into, err = strconv.ParseInt(n.Value, 10, 64); err != nil || *part.into < 0 {
			return m, unfenced(part.name, value)
		}
	}
	for _, part := range []struct {
		name string
		into *string
	}{{a.Grant, &m.GrantID}, {a.Source, &m.Source}} {
		value, ok := of[part.name]
		if !ok {
			continue
		}
		s, ok := value.(*types.AttributeValueMemberS)
		if !ok || s.Value == "" {
			return m, unfenced(part.name, value)
		}
		*part.into = s.Value
	}
	return m, nil
}

// describe names the type of a value, and its content where that is short.
func describe(value types.AttributeValue) string {
	switch v := value.(type) {
	case *types.AttributeValueMemberNULL:
		return "NULL"
	case *types.AttributeValueMemberN:
		return "the number " + v.Value
	case *types.AttributeValueMemberS:
		return fmt.Sprintf("the text %.40q", v.Value)
	}
	return fmt.Sprintf("of the type %T", value)
}

// put writes a mark into an item.
func (a Attributes) put(into item, m fence.Mark) {
	into[a.Token], into[a.Step], into[a.Grant], into[a.Source] = number(m.Number), number(m.Step), text(m.GrantID), text(m.Source)
}

// number is decimal text on the wire, and exact up to 38 digits in the store.
func number(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
