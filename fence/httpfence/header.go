package httpfence

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/fencerow/fencerow"
)

// Header is the name of the header that carries a stamp: the token's text, a semicolon, and the step in decimal.
//
//	Fence-Token: v1:34:IWKAZ…:etcd%3A7f…:account/42;7
const Header = "Fence-Token"

// FormatHeader writes a stamp as the value of [Header]. A stamp without a token, or with a step below 1, is [fencerow.ErrNoToken].
func FormatHeader(stamp fencerow.Stamp) (string, error) {
	if err := stamp.Check(stamp.Token().Resource()); err != nil {
		return "", err
	}
	text, err := stamp.Token().MarshalText()
	if err != nil {
		return "", err
	}
	return string(text) + ";" + strconv.FormatInt(stamp.Step(), 10), nil
}

// ParseHeader reads what FormatHeader wrote in another process. An empty value is [fencerow.ErrNoToken]; any other text that is not exactly
// what FormatHeader writes is [fencerow.ErrInvalidToken].
func ParseHeader(value string) (fencerow.Stamp, error) {
	if value == "" {
		return fencerow.Stamp{}, fmt.Errorf("%w: the header %s is empty", fencerow.ErrNoToken, Header)
	}
	text, digits, found := strings.Cut(value, ";")
	step, err := strconv.ParseInt(digits, 10, 64)
	if !found || err != nil || step < 1 || strconv.FormatInt(step, 10) != digits {
		return fencerow.Stamp{}, fmt.Errorf("%w: the header %s has no step of 1 or more in decimal behind its semicolon", fencerow.ErrInvalidToken, Header)
	}
	token, err := fencerow.ParseToken(text)
	if err != nil {
		return fencerow.Stamp{}, err
	}
	return token.Stamp(step), nil
}

// FromRequest returns the stamp of a request, for handlers that do not use [Require]. No header is [fencerow.ErrNoToken], several or a
// malformed one are [fencerow.ErrInvalidToken].
func FromRequest(r *http.Request) (fencerow.Stamp, error) {
	switch values := r.Header.Values(Header); len(values) {
	case 0:
		return fencerow.Stamp{}, fmt.Errorf("%w: the request has no header %s", fencerow.ErrNoToken, Header)
	case 1:
		return ParseHeader(values[0])
	}
	return fencerow.Stamp{}, fmt.Errorf("%w: the request has the header %s several times", fencerow.ErrInvalidToken, Header)
}
