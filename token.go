package fencerow

import (
	"encoding"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
)

// Token is the ordered proof of one grant: its number is greater than that of every earlier grant of the resource by
// the same source. Only a grant makes one; the zero Token is refused everywhere with [ErrNoToken].
//
// A Token is a small value: copy it, compare it with ==, send its text to another process and read it there with
// [ParseToken]. It proves who was granted later. It does not prove that the lease still runs; nothing in a client can.
type Token struct {
	source   string
	resource Resource
	number   int64
	grantID  string
}

var (
	_ encoding.TextMarshaler = Token{}
	_ slog.LogValuer         = Token{}
)

// Number returns the number that a resource stores and compares, 1 or more; 0 for the zero Token.
func (t Token) Number() int64 { return t.number }

// Resource returns the resource that was granted.
func (t Token) Resource() Resource { return t.resource }

// Source returns the identity of the token sequence: lock service, keyspace and epoch. Numbers of two sources cannot
// be ordered.
func (t Token) Source() string { return t.source }

// GrantID returns the random identity of the grant. It tells two grants apart that were, against all promises,
// issued the same number.
func (t Token) GrantID() string { return t.grantID }

// IsZero reports whether the token was never granted.
func (t Token) IsZero() bool { return t == Token{} }

// Stamp returns the stamp of one operation under the grant, for a token that crossed processes. The step is 1 or more
// and grows with each operation; a process that holds the [Lease] takes [Lease.Stamp] instead, which counts. Two
// processes that work under one token must share one count: two operations with the same step are taken for one.
func (t Token) Stamp(step int64) Stamp { return Stamp{token: t, step: step} }

// Compare returns -1, 0 or +1 as t was granted before, with or after u. Tokens of different sources or resources have
// no order: the error is [ErrMismatch], or [ErrNoToken] for a zero token. Equal numbers of different grants are
// [ErrTokenReused].
func (t Token) Compare(u Token) (int, error) {
	switch {
	case t.IsZero() || u.IsZero():
		return 0, fmt.Errorf("%w: cannot compare", ErrNoToken)
	case t.source != u.source:
		return 0, fmt.Errorf("%w: tokens of the sources %q and %q have no order", ErrMismatch, t.source, u.source)
	case t.resource != u.resource:
		return 0, fmt.Errorf("%w: tokens of the resources %q and %q have no order", ErrMismatch, t.resource, u.resource)
	case t.number < u.number:
		return -1, nil
	case t.number > u.number:
		return 1, nil
	case t.grantID != u.grantID:
		return 0, fmt.Errorf("%w: number %d of %s belongs to the grants %s and %s",
			ErrTokenReused, t.number, t.resource, t.grantID, u.grantID)
	}
	return 0, nil
}

// String returns a short form for people: resource and number. Use [Token.MarshalText] to send a token.
func (t Token) String() string {
	if t.IsZero() {
		return "no token"
	}
	return string(t.resource) + "#" + strconv.FormatInt(t.number, 10)
}

// LogValue returns the attributes fence_token, resource, lock_service and grant, the names that logs and metrics share.
func (t Token) LogValue() slog.Value {
	if t.IsZero() {
		return slog.StringValue("no token")
	}
	return slog.GroupValue(
		slog.Int64("fence_token", t.number),
		slog.String("resource", string(t.resource)),
		slog.String("lock_service", t.source),
		slog.String("grant", t.grantID),
	)
}

// The text form is v1:number:grant:source:resource, each part percent-encoded where it is not plain.
const tokenTextVersion = "v1"

// MarshalText writes the token for a queue message, a header or an environment variable: printable ASCII without
// spaces, quotes or commas, with the number in decimal so that no JSON reader rounds it. A zero token is [ErrNoToken].
func (t Token) MarshalText() ([]byte, error) {
	if t.IsZero() {
		return nil, fmt.Errorf("%w: nothing to write", ErrNoToken)
	}
	return []byte(strings.Join([]string{
		tokenTextVersion,
		strconv.FormatInt(t.number, 10),
		escape(t.grantID),
		escape(t.source),
		escape(string(t.resource)),
	}, ":")), nil
}

// ParseToken reads a token that [Token.MarshalText] wrote in another process. It is the only way to make a token
// without a grant, on purpose easy to search for. Text that is not exactly what MarshalText writes is refused with
// [ErrInvalidToken]; an empty text is [ErrNoToken].
func ParseToken(text string) (Token, error) {
	if text == "" {
		return Token{}, fmt.Errorf("%w: empty text; pass on the token of the grant", ErrNoToken)
	}
	parts := strings.Split(text, ":")
	if len(parts) != 5 || parts[0] != tokenTextVersion {
		return Token{}, fmt.Errorf("%w: %s is not of the form v1:number:grant:source:resource", ErrInvalidToken, quoteShort(text))
	}
	number, err := strconv.ParseInt(parts[1], 10, 64)
	if err != nil || strconv.FormatInt(number, 10) != parts[1] {
		return Token{}, fmt.Errorf("%w: the number %s is not a plain decimal integer below 2^63", ErrInvalidToken, quoteShort(parts[1]))
	}
	var plain [3]string
	for i, part := range parts[2:] {
		if plain[i], err = unescape(part); err != nil {
			return Token{}, fmt.Errorf("%w: %s: %w", ErrInvalidToken, quoteShort(part), err)
		}
	}
	return newToken(plain[1], Resource(plain[2]), number, plain[0])
}

// maxIDLen bounds source and grant id, in bytes, so that a token fits in a header and a key column.
const maxIDLen = 128

func newToken(source string, resource Resource, number int64, grantID string) (Token, error) {
	if number < 1 {
		return Token{}, fmt.Errorf("%w: the number is %d, it must be 1 or more", ErrInvalidToken, number)
	}
	if err := resource.Validate(); err != nil {
		return Token{}, fmt.Errorf("%w: %w", ErrInvalidToken, err)
	}
	if err := errors.Join(checkID("source", source), checkID("grant id", grantID)); err != nil {
		return Token{}, err
	}
	return Token{source: source, resource: resource, number: number, grantID: grantID}, nil
}

func checkID(what, text string) error {
	if text == "" || len(text) > maxIDLen || !printableASCII(text) {
		return fmt.Errorf("%w: the %s %s must be 1 to %d printable ASCII characters", ErrInvalidToken, what, quoteShort(text), maxIDLen)
	}
	return nil
}

func printableASCII(s string) bool {
	for i := range len(s) {
		if s[i] <= ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

func quoteShort(s string) string {
	const limit = 80
	if len(s) > limit {
		return strconv.Quote(s[:limit]) + "…"
	}
	return strconv.Quote(s)
}
