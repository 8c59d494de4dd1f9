package s3fence

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/fencerow/fencerow"
)

// segment bounds a part of a key between slashes, for stores that keep objects in a file system.
const segment = 180

// escape writes a resource as a part of a key: letters, digits and any of ".-_" stand for themselves, and slashes are escaped, so that no
// name is the folder of another. Long names are cut into segments; those that are not the last end in a plus sign.
func escape(resource fencerow.Resource) string {
	var b strings.Builder
	length := 0
	for i := range len(resource) {
		c := resource[i]
		part := string(rune(c))
		if !plain(c) {
			part = fmt.Sprintf("%%%02X", c)
		}
		if length+len(part) > segment {
			b.WriteString("+/")
			length = 0
		}
		b.WriteString(part)
		length += len(part)
	}
	return b.String()
}

func plain(c byte) bool {
	switch {
	case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		return true
	}
	return c == '.' || c == '-' || c == '_'
}

// unescape reads what escape wrote.
func unescape(text string) (fencerow.Resource, error) {
	text = strings.ReplaceAll(text, "+/", "")
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != '%' {
			b.WriteByte(text[i])
			continue
		}
		if i+2 >= len(text) {
			return "", fmt.Errorf("s3fence: the key %q is not one of ours", text)
		}
		n, err := strconv.ParseUint(text[i+1:i+3], 16, 8)
		if err != nil {
			return "", fmt.Errorf("s3fence: the key %q is not one of ours", text)
		}
		b.WriteByte(byte(n))
		i += 2
	}
	return fencerow.Resource(b.String()), nil
}

// pad writes a number so that texts compare as numbers do, up to 2^63-1.
func pad(n int64) string { return fmt.Sprintf("%019d", n) }

func unpad(text string) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || pad(n) != text {
		return 0, fmt.Errorf("s3fence: %q is not a padded number", text)
	}
	return n, nil
}

// folder makes a prefix end in a slash unless it is empty.
func folder(prefix string) string {
	if prefix = strings.Trim(prefix, "/"); prefix != "" {
		prefix += "/"
	}
	return prefix
}
