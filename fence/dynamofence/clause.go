package dynamofence

import (
	"fmt"

	"github.com/fencerow/fencerow"
	"github.com/fencerow/fencerow/fence"
)

// clause is what the fence adds to one request. It names only what it uses, because DynamoDB refuses names and values that are not used.
type clause struct {
	attributes  Attributes
	conditions  []string // each safe to join with AND
	assignments []string
	names       map[string]string
	values      item
}

func (a Attributes) clause() *clause {
	return &clause{attributes: a, names: map[string]string{}, values: item{}}
}

func (c *clause) name(placeholder, attribute string) string {
	c.names[ownName+placeholder] = attribute
	return ownName + placeholder
}

func (c *clause) token() string  { return c.name("token", c.attributes.Token) }
func (c *clause) step() string   { return c.name("step", c.attributes.Step) }
func (c *clause) grant() string  { return c.name("grant", c.attributes.Grant) }
func (c *clause) source() string { return c.name("source", c.attributes.Source) }

func (c *clause) number(placeholder string, n int64) string {
	c.values[ownValue+placeholder] = number(n)
	return ownValue + placeholder
}

func (c *clause) text(placeholder, s string) string {
	c.values[ownValue+placeholder] = text(s)
	return ownValue + placeholder
}

func (c *clause) demand(format string, args ...any) {
	c.conditions = append(c.conditions, fmt.Sprintf(format, args...))
}

// there demands that the item exists: the key attribute of one that does not is missing. Without it a condition with
// attribute_not_exists holds for an item that is not there, and the update makes a ghost of it.
func (c *clause) there(t table) *clause {
	c.demand("attribute_exists(%s)", c.name("key", t.partition))
	return c
}

// absent demands that the item does not exist.
func (c *clause) absent(t table) *clause {
	c.demand("attribute_not_exists(%s)", c.name("key", t.partition))
	return c
}

// The conditions below say what the decisions of package fence say, with one exception: a value of another type fails them all.

func (c *clause) follows(token fencerow.Token) {
	c.demand("(attribute_not_exists(%[1]s) OR %[1]s = %[2]s)", c.source(), c.text("source", token.Source()))
}

// claimable is [fence.Mark.Claim] for a grant that has not claimed yet.
func (c *clause) claimable(token fencerow.Token, maxJump int64) *clause {
	c.follows(token)
	stored, mine := c.token(), c.number("token", token.Number())
	if maxJump == 0 || maxJump >= token.Number() {
		c.demand("(attribute_not_exists(%[1]s) OR %[1]s < %[2]s)", stored, mine)
		return c
	}
	c.demand("(attribute_not_exists(%[1]s) OR %[1]s = %[2]s OR (%[1]s < %[3]s AND %[1]s >= %[4]s))",
		stored, c.number("none", 0), mine, c.number("floor", token.Number()-maxJump))
	return c
}

func (c *clause) stepBelow(step int64) string {
	return fmt.Sprintf("(attribute_not_exists(%[1]s) OR %[1]s < %[2]s)", c.step(), c.number("step", step))
}

// admits is [fence.Mark.Write] for the rules Claimed and Stepped.
func (c *clause) admits(rule fence.Rule, stamp fencerow.Stamp) *clause {
	token := stamp.Token()
	c.follows(token)
	stored, mine := c.token(), c.number("token", token.Number())
	below := c.stepBelow(stamp.Step())
	if rule == fence.Claimed {
		c.demand("%s = %s AND %s = %s AND %s", stored, mine, c.grant(), c.text("grant", token.GrantID()), below)
		return c
	}
	c.demand("(attribute_not_exists(%[1]s) OR %[1]s < %[2]s OR (%[1]s = %[2]s AND %[3]s))", stored, mine, below)
	return c
}

// raises admits a stamp of this grant that is new, or any of a newer one.
func (c *clause) raises(stamp fencerow.Stamp) *clause {
	token := stamp.Token()
	c.follows(token)
	c.demand("(attribute_not_exists(%[1]s) OR %[1]s < %[2]s OR (%[1]s = %[2]s AND %[3]s = %[4]s AND %[5]s))",
		c.token(), c.number("token", token.Number()), c.grant(), c.text("grant", token.GrantID()), c.stepBelow(stamp.Step()))
	return c
}

// same demands that the mark is still what was read.
func (c *clause) same(of item) *clause {
	for _, part := range []struct{ placeholder, attribute, name string }{
		{"token", c.attributes.Token, c.token()}, {"step", c.attributes.Step, c.step()},
		{"grant", c.attributes.Grant, c.grant()}, {"source", c.attributes.Source, c.source()},
	} {
		value, ok := of[part.attribute]
		if !ok {
			c.demand("attribute_not_exists(%s)", part.name)
			continue
		}
		c.values[ownValue+"old_"+part.placeholder] = value
		c.demand("%s = %s", part.name, ownValue+"old_"+part.placeholder)
	}
	return c
}

// record assigns the mark.
func (c *clause) record(m fence.Mark) *clause {
	c.assignments = append(c.assignments,
		c.token()+" = "+c.number("token", m.Number), c.step()+" = "+c.number("step", m.Step),
		c.grant()+" = "+c.text("grant", m.GrantID), c.source()+" = "+c.text("source", m.Source))
	return c
}
