package sqlfence

import (
	"fmt"
	"strings"
)

// replacePlaceholders calls next for each question mark in a piece of SQL that stands for an argument, and puts in what it
// returns. Question marks in quotes and comments are left alone; two in a row stand for one.
func replacePlaceholders(text string, next func() string) string {
	var b strings.Builder
	for i := 0; i < len(text); {
		if n := skipQuoted(text[i:]); n > 0 {
			b.WriteString(text[i : i+n])
			i += n
			continue
		}
		switch {
		case strings.HasPrefix(text[i:], "??"):
			b.WriteByte('?')
			i += 2
		case text[i] == '?':
			b.WriteString(next())
			i++
		default:
			b.WriteByte(text[i])
			i++
		}
	}
	return b.String()
}

// escapePlaceholders returns a text in which no question mark stands for an argument. Quoted names need none of it.
func escapePlaceholders(text string) string {
	return replacePlaceholders(text, func() string { return "??" })
}

func countPlaceholders(text string) int {
	n := 0
	replacePlaceholders(text, func() string { n++; return "" })
	return n
}

// checkPart refuses a piece of SQL that does not stay within its place in a statement: one that ends within quotes or a comment,
// closes parentheses that it has not opened, or begins another statement.
func (d Dialect) checkPart(text string) error {
	// MySQL reads a backslash in a string, a # and a /*! in its own way.
	if d.insertID && strings.ContainsAny(text, `\#`) || d.insertID && strings.Contains(text, "/*!") {
		return fmt.Errorf("%q has a backslash, a # or a /*!, which MySQL may take for the end of a text or for a comment; pass texts as arguments", text)
	}
	depth := 0
	for i := 0; i < len(text); {
		n := skipQuoted(text[i:])
		switch {
		case n > 0 && strings.HasPrefix(text[i:], "--"):
		case n > 0 && !closed(text[i:i+n]):
			return fmt.Errorf("%q ends within quotes or a comment", text)
		case text[i] == ';':
			return fmt.Errorf("%q has a semicolon: a fence covers one statement", text)
		}
		if n == 0 && text[i] == '(' {
			depth++
		}
		if n == 0 && text[i] == ')' {
			depth--
		}
		if depth < 0 {
			break
		}
		i += max(n, 1)
	}
	if depth != 0 {
		return fmt.Errorf("%q has parentheses that do not match", text)
	}
	return nil
}

// closed reports whether a quoted part has its end.
func closed(part string) bool {
	opening, end := part[:1], part[:1]
	switch {
	case strings.HasPrefix(part, "/*"):
		opening, end = "/*", "*/"
	case part[0] == '$':
		opening = dollarTag(part)
		end = opening
	}
	return len(part) >= len(opening)+len(end) && strings.HasSuffix(part, end)
}

// skipQuoted returns the length of the string, quoted identifier or comment that text begins with, or 0.
func skipQuoted(text string) int {
	switch {
	case text[0] == '\'', text[0] == '"', text[0] == '`':
		// A doubled quote ends one part and begins the next: no special case is needed.
		return endOf(text, 1, text[:1])
	case strings.HasPrefix(text, "--"):
		return endOf(text, 2, "\n")
	case strings.HasPrefix(text, "/*"):
		return endOf(text, 2, "*/")
	case text[0] == '$':
		if tag := dollarTag(text); tag != "" {
			return endOf(text, len(tag), tag)
		}
	}
	return 0
}

// endOf returns the index behind the next end, or the length of text if there is none.
func endOf(text string, from int, end string) int {
	if i := strings.Index(text[from:], end); i >= 0 {
		return from + i + len(end)
	}
	return len(text)
}

// dollarTag returns the opening $tag$ of a Postgres dollar-quoted string, or nothing.
func dollarTag(text string) string {
	for i := 1; i < len(text); i++ {
		switch c := text[i]; {
		case c == '$':
			return text[:i+1]
		case c == '_', 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', i > 1 && '0' <= c && c <= '9':
		default:
			return ""
		}
	}
	return ""
}
