package httpfence

import (
	"net/http"

	"github.com/fencerow/fencerow"
)

// HandlerFunc handles a request that carries a stamp. It gives the stamp to the fence of what it writes, in its own transaction, and
// returns what the fence says. If it returns an error it must not have written an answer, except one that was begun and broke off.
type HandlerFunc func(w http.ResponseWriter, r *http.Request, stamp fencerow.Stamp) error

// Require returns a handler that refuses requests without a stamp, with 428, and those whose header is malformed, with 400; it hands the
// stamp of the others to next, and writes the answer for the error that next returns. See [WriteError].
func Require(next HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		stamp, err := FromRequest(r)
		if err != nil {
			WriteError(w, err)
			return
		}
		begun := &begun{ResponseWriter: w}
		if err := next(begun, r, stamp); err != nil && !begun.yes {
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
	b.yes = true
	b.ResponseWriter.WriteHeader(status)
}

func (b *begun) Write(p []byte) (int, error) {
	b.yes = true
	return b.ResponseWriter.Write(p)
}

// Unwrap is for http.ResponseController.
func (b *begun) Unwrap() http.ResponseWriter { return b.ResponseWriter }
