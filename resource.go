package fencerow

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Resource names the thing that a lock protects, written class/id: "account/42".
//
// The class labels metrics and must therefore be one of few; the id tells the members of a class apart. Both are part
// of the name that lock services and fences store, byte for byte: "account/42" and "Account/42" are two resources.
type Resource string

// MaxResourceLen is the length limit of a resource name in bytes. It keeps every name usable as a primary key in each
// supported database.
const MaxResourceLen = 255

// Class returns the part before the first slash, the label under which metrics count the resource.
func (r Resource) Class() string {
	class, _, _ := strings.Cut(string(r), "/")
	return class
}

// ID returns the part after the first slash.
func (r Resource) ID() string {
	_, id, _ := strings.Cut(string(r), "/")
	return id
}

// Validate returns an error that says what is wrong with the name and how to write it, or nil.
//
// A class is 1 to 64 ASCII letters, digits, '.', '_' or '-'. An id is any printable UTF-8 text, slashes and quotes
// included. Control characters are refused, because stores disagree about them, and so is a name of more than
// [MaxResourceLen] bytes.
func (r Resource) Validate() error {
	class, id, found := strings.Cut(string(r), "/")
	switch {
	case r == "":
		return fmt.Errorf("%w: empty; write class/id, such as account/42", ErrInvalidResource)
	case len(r) > MaxResourceLen:
		return fmt.Errorf("%w: %d bytes, the limit is %d; use a shorter id or a digest of it",
			ErrInvalidResource, len(r), MaxResourceLen)
	case !found:
		return fmt.Errorf("%w: %q has no slash; write class/id, such as account/42", ErrInvalidResource, string(r))
	case !validClass(class):
		return fmt.Errorf("%w: the class of %q must be 1 to 64 of a-z A-Z 0-9 . _ -", ErrInvalidResource, string(r))
	case id == "":
		return fmt.Errorf("%w: %q has no id after the slash", ErrInvalidResource, string(r))
	case !utf8.ValidString(id):
		return fmt.Errorf("%w: the id of %q is not valid UTF-8", ErrInvalidResource, string(r))
	}
	for _, c := range id {
		if !unicode.IsPrint(c) {
			return fmt.Errorf("%w: the id of %q contains the non-printable character %U", ErrInvalidResource, string(r), c)
		}
	}
	return nil
}

// printable reports whether a text is valid UTF-8 without control characters.
func printable(s string) bool {
	for _, c := range s {
		if !unicode.IsPrint(c) {
			return false
		}
	}
	return utf8.ValidString(s)
}

func validClass(class string) bool {
	if class == "" || len(class) > 64 {
		return false
	}
	for _, c := range []byte(class) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '.', c == '_', c == '-':
		default:
			return false
		}
	}
	return true
}
