package sqlfence

import (
	"database/sql/driver"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/fencerow/fencerow"
)

// Key is the value of each key column, in the order of [Schema.Key]: Key{42}, or Key{"eu", 42}. Values are integers,
// strings, or other types with a String method whose text is the value, such as UUIDs. Write text in one form only: where the
// database takes two texts for the same, they are still two resources.
type Key []any

// resource returns the name of the resource that protects the row: the class and the key's values. In a key of several
// columns a slash within a value is written %2F, so that no two keys share a name.
func (k Key) resource(class string, columns int) (fencerow.Resource, error) {
	if len(k) != columns {
		return "", fmt.Errorf("sqlfence: the key %v has %d values, the table's key has %d columns", []any(k), len(k), columns)
	}
	parts := make([]string, len(k))
	for i, value := range k {
		text, err := keyText(value)
		if err != nil {
			return "", err
		}
		if len(k) > 1 {
			text = strings.NewReplacer("%", "%25", "/", "%2F").Replace(text)
		}
		parts[i] = text
	}
	resource := fencerow.Resource(class + "/" + strings.Join(parts, "/"))
	return resource, resource.Validate()
}

func keyText(value any) (string, error) {
	switch v := reflect.ValueOf(value); v.Kind() {
	case reflect.String:
		return v.String(), nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return strconv.FormatInt(v.Int(), 10), nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return strconv.FormatUint(v.Uint(), 10), nil
	}
	if s, ok := value.(fmt.Stringer); ok {
		return s.String(), nil
	}
	return "", fmt.Errorf("sqlfence: a key value of type %T has no text that names a resource; pass an integer or a string", value)
}

// keyArg returns what the database is asked for.
func keyArg(value any) any {
	if _, ok := value.(driver.Valuer); ok {
		return value
	}
	if s, ok := value.(fmt.Stringer); ok {
		if k := reflect.ValueOf(value).Kind(); k == reflect.Struct || k == reflect.Array || k == reflect.Pointer {
			return s.String()
		}
	}
	return value
}
