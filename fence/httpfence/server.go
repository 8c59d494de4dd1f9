package httpfence

import (
	"bufio"
	"net"
	"net/http"

	"github.com/fencerow/fencerow"
)

// HandlerFunc handles a request that carries a stamp. It gives the stamp to the fence of what it writes, in its own transaction, and
// returns what the fence says. It writes its own answer only after the fence has said applied: an answer that was begun before an error was
// returned is broken off.
type HandlerFunc func(w http.ResponseWriter, r *http.Request, stamp fencerow.Stamp) error

// Require returns a handler that refuses requests without a stamp, with 428, and those whose header is malformed, with 400; it hands the
// stamp of the others to next, and writes the answer for the error that next returns. See [WriteError].
//
// If next returns an error after it has begun an answer, that one cannot be taken back, and would be read as a success. The connection is
// broken off instead, by a panic with http.ErrAbortHandler, so that the client takes the outcome for unknown and sends the stamp again.
func Require(next HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		stamp, err := FromRequest(r)
		if err != nil {
			WriteError(w, err)
			return
		}
		begun := &begun{ResponseWriter: w}
		switch err := next(begun, r, stamp); {
		case err == nil:
		case begun.yes:
			panic(http.ErrAbortHandler)
		default:
			WriteError(w, err)
		}
	})
}

// begun notices that an answer was begun.
type begun struct {
	http.ResponseWriter
	yes bool
}

func (b *begun) WriteHeader(status int) {
	// Other codes of this hundred come before the answer.
	if status >= 200 || status == http.StatusSwitchingProtocols {
		b.yes = true
	}
	b.ResponseWriter.WriteHeader(status)
}

func (b *begun) Write(p []byte) (int, error) {
	b.yes = true
	return b.ResponseWriter.Write(p)
}

// FlushError is for http.ResponseController: what is flushed has a header.
func (b *begun) FlushError() error {
	b.yes = true
	return http.NewResponseController(b.ResponseWriter).Flush()
}

// Hijack is for http.ResponseController. Whoever takes the connection writes the answer.
func (b *begun) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	b.yes = true
	return http.NewResponseController(b.ResponseWriter).Hijack()
}

// Unwrap is for http.ResponseController.
func (b *begun) Unwrap() http.ResponseWriter { return b.ResponseWriter }
