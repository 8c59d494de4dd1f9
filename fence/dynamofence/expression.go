package dynamofence

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// expressions are those of one request, with the names and values that they use. The update is "" where a request has none.
type expressions struct {
	update, condition string
	names             map[string]string
	values            item
}

// The placeholders of the fence begin so.
const (
	ownName  = "#fencerow_"
	ownValue = ":fencerow_"
)

// check refuses expressions that the fence cannot be added to without changing what they or it mean.
func (e expressions) check(a Attributes) error {
	for name := range e.names {
		if strings.HasPrefix(name, ownName) {
			return fmt.Errorf("the name %s belongs to the fence; choose one that does not begin with %s", name, ownName)
		}
	}
	for name := range e.values {
		if strings.HasPrefix(name, ownValue) {
			return fmt.Errorf("the value %s belongs to the fence; choose one that does not begin with %s", name, ownValue)
		}
	}
	for _, text := range []string{e.update, e.condition} {
		if strings.Contains(text, ownName) || strings.Contains(text, ownValue) {
			return fmt.Errorf("the expression %q uses names of the fence, %s and %s", text, ownName, ownValue)
		}
		if !balanced(text) {
			return fmt.Errorf("the parentheses of %q do not match", text)
		}
	}
	for _, w := range words(e.update) {
		if name := w.attribute(e.names); name != "" && a.has(name) {
			return fmt.Errorf("the update expression %q uses the attribute %s, which the fence alone may change", e.update, name)
		}
	}
	return nil
}

// balanced reports whether no parenthesis closes what it has not opened: one that did would take the caller's condition out of the
// parentheses which keep an OR of it from going around the fence. Expressions have no literals that could hold one.
func balanced(text string) bool {
	depth := 0
	for _, c := range text {
		switch c {
		case '(':
			depth++
		case ')':
			depth--
		}
		if depth < 0 {
			return false
		}
	}
	return depth == 0
}

// word is a name, a placeholder or a keyword in an expression.
type word struct {
	text   string
	end    int  // where it ends
	nested bool // it follows a dot: a part of a path below an attribute
	called bool // a parenthesis follows: a function
}

// wordForm takes letters of any script, which is more than DynamoDB does.
var wordForm = regexp.MustCompile(`[#:]?[\pL\pN_]+`)

func words(text string) []word {
	var found []word
	for _, at := range wordForm.FindAllStringIndex(text, -1) {
		before, after := strings.TrimSpace(text[:at[0]]), strings.TrimSpace(text[at[1]:])
		found = append(found, word{
			text: text[at[0]:at[1]], end: at[1],
			nested: strings.HasSuffix(before, "."), called: strings.HasPrefix(after, "("),
		})
	}
	return found
}

// attribute returns the attribute of the item that a word names, or "".
func (w word) attribute(names map[string]string) string {
	switch {
	case w.nested, w.called, w.text[0] == ':':
		return ""
	case w.text[0] == '#':
		return names[w.text]
	}
	return w.text
}

// assign adds assignments to an update expression, whatever clauses it has. A clause may occur once, so those of the fence go into
// the caller's SET, where there is one. SET is a reserved word, which no attribute can have without a placeholder.
func assign(update, assignments string) string {
	for _, w := range words(update) {
		if !w.nested && strings.EqualFold(w.text, "SET") {
			return update[:w.end] + " " + assignments + "," + update[w.end:]
		}
	}
	return strings.TrimSpace("SET " + assignments + " " + update)
}

// both joins the caller's condition and the fence's, of which either may be empty. AND binds tighter than OR, so the caller's is in
// parentheses; the fence's is a chain of AND.
func both(a, b string) string {
	switch {
	case strings.TrimSpace(a) == "":
		return b
	case b == "":
		return a
	case enclosed(a):
		return a + " AND " + b
	}
	return "(" + a + ") AND " + b
}

// enclosed reports whether one pair of parentheses is around the whole. DynamoDB refuses a second one as redundant.
func enclosed(text string) bool {
	text = strings.TrimSpace(text)
	return strings.HasPrefix(text, "(") && strings.HasSuffix(text, ")") && balanced(text[1:len(text)-1])
}

// with returns the expressions with a clause of the fence added.
func (e expressions) with(c *clause) expressions {
	sum := expressions{
		update:    e.update,
		condition: both(e.condition, strings.Join(c.conditions, " AND ")),
		names:     merged(e.names, c.names),
		values:    merged(e.values, c.values),
	}
	if len(c.assignments) > 0 {
		sum.update = assign(e.update, strings.Join(c.assignments, ", "))
	}
	return sum
}

func merged[V any](a, b map[string]V) map[string]V {
	if len(a)+len(b) == 0 {
		return nil // DynamoDB refuses an empty map
	}
	sum := maps.Clone(a)
	if sum == nil {
		sum = map[string]V{}
	}
	maps.Copy(sum, b)
	return sum
}

// legacy refuses the parameters that cannot be joined with expressions.
func legacy(update map[string]types.AttributeValueUpdate, expected map[string]types.ExpectedAttributeValue, operator types.ConditionalOperator) error {
	if update != nil || expected != nil || operator != "" {
		return errors.New("AttributeUpdates, Expected and ConditionalOperator cannot be joined with the condition of the fence; " +
			"write an UpdateExpression and a ConditionExpression")
	}
	return nil
}
