package httpfence

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/fencerow/fencerow"
)

type contextKey struct{}

// NewContext returns a copy of ctx that carries the stamp of one operation, for the request that makes it. Take another stamp for the next
// operation, and the same one to send this one again.
func NewContext(ctx context.Context, stamp fencerow.Stamp) context.Context {
	return context.WithValue(ctx, contextKey{}, stamp)
}

// FromContext returns the stamp that [NewContext] has put there, and the zero Stamp if there is none.
func FromContext(ctx context.Context) fencerow.Stamp {
	stamp, _ := ctx.Value(contextKey{}).(fencerow.Stamp)
	return stamp
}

// Transport is an http.RoundTripper that writes stamps into requests, and hands the answers to the leases that issued them. It is safe for
// concurrent use.
//
// An error of the service's fence is returned as the error of the request, which wraps it: errors.Is(err, fencerow.ErrStale). A request
// whose answer was lost is [fencerow.ErrAmbiguous]: send the same stamp again. Answers that are not about the stamp are returned as they
// are, whatever their status.
type Transport struct {
	// Base sends the requests. Default: http.DefaultTransport.
	Base http.RoundTripper
	// Observer is told every answer. Default: nobody.
	Observer *fencerow.Observer
	// Unstamped says which requests may go without a stamp. Default: those with the methods GET, HEAD and OPTIONS.
	Unstamped func(*http.Request) bool
}

// RoundTrip implements http.RoundTripper. A stamp is never sent to another host than the one that the request was made for, nor in plain
// text where the request was encrypted: following a redirect there is refused, with [fencerow.ErrAmbiguous] if the first host may have
// applied the request.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	base := t.Base
	if base == nil {
		base = http.DefaultTransport
	}
	stamp := FromContext(r.Context())
	if stamp.Token().IsZero() {
		if t.mayGoWithout(r) && r.Header.Get(Header) == "" {
			return base.RoundTrip(r)
		}
		return nil, refuse(r, fmt.Errorf("%w: give the request a context from httpfence.NewContext", fencerow.ErrNoToken))
	}
	if err := t.check(r); err != nil {
		return nil, refuse(r, err)
	}
	value, err := FormatHeader(stamp)
	if err != nil {
		return nil, refuse(r, err)
	}
	stamped := r.Clone(r.Context()) // a RoundTripper must not change the request
	stamped.Header.Set(Header, value)
	response, err := base.RoundTrip(stamped)
	if err != nil {
		err = fmt.Errorf("%w: httpfence: %w", fencerow.ErrAmbiguous, err)
	} else if err = Err(response); errors.Is(err, fencerow.ErrDuplicate) {
		// A success, for whoever sends a stamp again; the header says which.
		_ = stamp.Settle(r.Context(), t.Observer, fencerow.Write, err)
		return response, nil
	} else if err == nil {
		// A redirect says nothing: who follows it gets the answer.
		if response.StatusCode/100 == 2 {
			_ = stamp.Settle(r.Context(), t.Observer, fencerow.Write, nil)
		}
		return response, nil
	}
	if response != nil {
		_ = response.Body.Close()
	}
	return nil, stamp.Settle(r.Context(), t.Observer, fencerow.Write, err)
}

func (t *Transport) mayGoWithout(r *http.Request) bool {
	if t.Unstamped != nil {
		return t.Unstamped(r)
	}
	return r.Method == http.MethodGet || r.Method == http.MethodHead || r.Method == http.MethodOptions
}

// check refuses a request that would carry the stamp where it does not belong.
func (t *Transport) check(r *http.Request) error {
	if r.Header.Get(Header) != "" {
		return fmt.Errorf("%w: httpfence: the request has a header %s already; pass the stamp on by its context", fencerow.ErrInvalidToken, Header)
	}
	return checkRedirect(r)
}

// checkRedirect refuses a request that follows a redirect to another place. Where the request came from is not known if Base does not say.
func checkRedirect(r *http.Request) error {
	before := r.Response
	if before == nil || before.Request != nil && before.Request.URL.Scheme == r.URL.Scheme && before.Request.URL.Host == r.URL.Host {
		return nil
	}
	err := fmt.Errorf("httpfence: the service redirects to %s://%s, which gets no stamp; send the request there yourself", r.URL.Scheme, r.URL.Host)
	switch before.StatusCode {
	case http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return err // the request is to be sent there, so that it was not applied here
	}
	return fmt.Errorf("%w: %w", fencerow.ErrAmbiguous, err)
}

// refuse closes the body, as a RoundTripper must.
func refuse(r *http.Request, err error) error {
	if r.Body != nil {
		_ = r.Body.Close()
	}
	return err
}
