package httpfence_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/fencerow/fencerow"
	"github.com/fencerow/fencerow/fence/httpfence"
)

// A handler that has begun an answer and then fails must not look like a success: the answer is broken off, and the client asks again.
func TestBegunAnswersAreBrokenOff(t *testing.T) {
	for name, begin := range map[string]func(http.ResponseWriter){
		"header":  func(w http.ResponseWriter) { w.WriteHeader(http.StatusAccepted) },
		"body":    func(w http.ResponseWriter) { _, _ = io.WriteString(w, "done") },
		"flushed": func(w http.ResponseWriter) { _ = http.NewResponseController(w).Flush() },
	} {
		t.Run(name, func(t *testing.T) {
			response, err := exchange(t, httpfence.NewContext(t.Context(), stamp), func(w http.ResponseWriter, _ *http.Request, _ fencerow.Stamp) error {
				begin(w)
				return fencerow.ErrStale
			}, &httpfence.Transport{})
			if name == "flushed" && err == nil { // the header was on its way; the body tells
				defer response.Body.Close()
				if _, err := io.ReadAll(response.Body); err == nil {
					t.Errorf("a whole answer: %s", response.Status)
				}
			} else if !errors.Is(err, fencerow.ErrAmbiguous) {
				t.Errorf("%v, want ErrAmbiguous", err)
			}
		})
	}
}

// Early hints are no answer yet.
func TestEarlyHintsBeginNoAnswer(t *testing.T) {
	_, err := exchange(t, httpfence.NewContext(t.Context(), stamp), func(w http.ResponseWriter, _ *http.Request, _ fencerow.Stamp) error {
		w.WriteHeader(http.StatusEarlyHints)
		return &fencerow.StaleError{Resource: "account/42", Presented: 5, Stored: 6}
	}, &httpfence.Transport{})
	if !errors.Is(err, fencerow.ErrStale) {
		t.Errorf("%v, want ErrStale", err)
	}
}

// What may have been applied is never called malformed, whatever else the error is.
func TestDoubtIsNotCalledMalformed(t *testing.T) {
	_, err := exchange(t, httpfence.NewContext(t.Context(), stamp), func(http.ResponseWriter, *http.Request, fencerow.Stamp) error {
		return fmt.Errorf("%w; this attempt: %w", fencerow.ErrAmbiguous, fencerow.ErrInvalidToken)
	}, &httpfence.Transport{})
	if !errors.Is(err, fencerow.ErrAmbiguous) {
		t.Errorf("%v, want ErrAmbiguous", err)
	}
}

// A handler that does not reach its store says so, and the client asks again.
func TestUnreachableStoreIs503(t *testing.T) {
	_, dialErr := (&net.Dialer{}).DialContext(t.Context(), "tcp", "127.0.0.1:1")
	for _, cause := range []error{dialErr, context.DeadlineExceeded} {
		recorder := httptest.NewRecorder()
		httpfence.WriteError(recorder, fmt.Errorf("look at the gate: %w", cause))
		answer := recorder.Result()
		if answer.StatusCode != http.StatusServiceUnavailable || answer.Header.Get("Retry-After") == "" || !errors.Is(httpfence.Err(answer), fencerow.ErrAmbiguous) {
			t.Errorf("%v: %s %v", cause, answer.Status, answer.Header)
		}
	}
}

// A refusal whose body is lost on the way is not taken for an answer.
func TestProblemThatBreaksOffIsAmbiguous(t *testing.T) {
	base := roundTripper(func(r *http.Request) (*http.Response, error) {
		return &http.Response{
			StatusCode: http.StatusPreconditionFailed, Status: "412 Precondition Failed", Request: r,
			Header: http.Header{"Content-Type": {"application/problem+json"}},
			Body:   io.NopCloser(io.MultiReader(strings.NewReader(`{"type":"urn:`), broken{})),
		}, nil
	})
	_, err := exchange(t, httpfence.NewContext(t.Context(), stamp), nil, &httpfence.Transport{Base: base})
	if !errors.Is(err, fencerow.ErrAmbiguous) {
		t.Errorf("%v, want ErrAmbiguous", err)
	}
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// A problem of somebody else, and however long, is left to be read.
func TestForeignProblemsAreLeftAlone(t *testing.T) {
	text := `{"type":"about:blank","detail":"` + strings.Repeat("x", 200<<10) + `"}`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusConflict)
		_, _ = io.WriteString(w, text)
	}))
	defer server.Close()
	request, err := http.NewRequestWithContext(httpfence.NewContext(t.Context(), stamp), http.MethodPost, server.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := (&http.Client{Transport: &httpfence.Transport{}}).Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if got, err := io.ReadAll(response.Body); string(got) != text || err != nil {
		t.Errorf("%d of %d bytes are left, %v", len(got), len(text), err)
	}
}

// Only what the service has done is told as applied: a redirect is no answer of a fence, whoever follows it.
func TestRedirectsAreNotToldAsApplied(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("/old", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/new", http.StatusTemporaryRedirect)
	})
	mux.Handle("/new", httpfence.Require(func(_ http.ResponseWriter, _ *http.Request, got fencerow.Stamp) error {
		if got != stamp {
			t.Errorf("the handler got %v", got)
		}
		return fencerow.ErrOutOfOrder
	}))
	server := httptest.NewServer(mux)
	defer server.Close()
	var told []fencerow.Verdict
	observer := &fencerow.Observer{Decided: func(_ context.Context, d fencerow.Decision) { told = append(told, d.Verdict) }}
	request, err := http.NewRequestWithContext(httpfence.NewContext(t.Context(), stamp), http.MethodPost, server.URL+"/old", strings.NewReader("body"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = (&http.Client{Transport: &httpfence.Transport{Observer: observer}}).Do(request)
	if !errors.Is(err, fencerow.ErrOutOfOrder) || len(told) != 1 || told[0] != fencerow.OutOfOrder {
		t.Errorf("%v, the observer was told %v", err, told)
	}
}

// A redirect elsewhere gets no stamp: not to another host, nor from https to http. Where the first service has handled the request, as
// 303 says, its outcome is unknown; where it has not, as 307 says, nothing was written.
func TestRedirectsElsewhereGetNoStamp(t *testing.T) {
	for _, c := range []struct {
		name, from, to string
		status         int
		want           fencerow.Verdict
	}{
		{"see the other host", "https://a.test/", "https://b.test/", http.StatusSeeOther, fencerow.Ambiguous},
		{"send it to the other host", "https://a.test/", "https://b.test/", http.StatusTemporaryRedirect, fencerow.Failed},
		{"in plain text", "https://a.test/", "http://a.test/", http.StatusPermanentRedirect, fencerow.Failed},
	} {
		t.Run(c.name, func(t *testing.T) {
			var seen []string
			for _, anonymous := range []bool{false, true} {
				base := roundTripper(func(r *http.Request) (*http.Response, error) {
					seen = append(seen, r.URL.String())
					response := &http.Response{StatusCode: c.status, Status: http.StatusText(c.status), Header: http.Header{"Location": {c.to}}, Body: http.NoBody}
					if !anonymous {
						response.Request = r
					}
					return response, nil
				})
				request, err := http.NewRequestWithContext(httpfence.NewContext(t.Context(), stamp), http.MethodPost, c.from, strings.NewReader("body"))
				if err != nil {
					t.Fatal(err)
				}
				_, err = (&http.Client{Transport: &httpfence.Transport{Base: base}}).Do(request)
				if got := fencerow.VerdictOf(err); got != c.want {
					t.Errorf("%s (%v), want %s", got, err, c.want)
				}
			}
			if len(seen) != 2 || seen[0] != c.from || seen[1] != c.from {
				t.Errorf("sent to %q", seen)
			}
		})
	}
}
