package sqlfence

import (
	"regexp"
	"strings"
)

// named is a statement whose arguments have names: {resource} in its file.
type named struct {
	text  string
	names []string // of the arguments, in their order
}

// values are the arguments of a named statement.
type values map[string]any

var nameForm = regexp.MustCompile(`\{[a-z_]+\}`)

// named returns a statement with the placeholders of the dialect.
func (d Dialect) named(name string) named {
	var n named
	numbers := map[string]string{}
	n.text = nameForm.ReplaceAllStringFunc(withoutComments(d.statement(name)), func(in string) string {
		name := strings.Trim(in, "{}")
		if known, ok := numbers[name]; ok && d.numbered {
			return known
		}
		n.names = append(n.names, name)
		numbers[name] = d.placeholder(len(n.names))
		return numbers[name]
	})
	return n
}

// withoutComments removes the lines of comment at the beginning: they are for readers of the file.
func withoutComments(text string) string {
	for strings.HasPrefix(text, "--") {
		_, text, _ = strings.Cut(text, "\n")
	}
	return strings.TrimRight(text, "; \n")
}

func (n named) args(v values) []any {
	args := make([]any, len(n.names))
	for i, name := range n.names {
		args[i] = v[name]
	}
	return args
}
