package httpfence_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/fencerow/fencerow"
	"github.com/fencerow/fencerow/fence/httpfence"
	"github.com/fencerow/fencerow/fencerowtest"
)

var stamp = fencerowtest.Token("test:1", "account/42", 1<<53+1).Stamp(7)

// exchange sends a request through the Transport to a handler that answers with an error, and returns what comes back.
func exchange(t *testing.T, ctx context.Context, handler httpfence.HandlerFunc, transport *httpfence.Transport) (*http.Response, error) {
	t.Helper()
	server := httptest.NewServer(httpfence.Require(handler))
	t.Cleanup(server.Close)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL, strings.NewReader("body"))
	if err != nil {
		t.Fatal(err)
	}
	return (&http.Client{Transport: transport}).Do(request)
}

// Every answer of a fence goes to the client and comes back as what it was.
func TestEveryAnswerCrossesTheWire(t *testing.T) {
	stale := &fencerow.StaleError{Resource: "account/42", Presented: 1<<53 + 1, Stored: 1<<62 + 1}
	for _, c := range []struct {
		err    error
		status int
		want   fencerow.Verdict
	}{
		{nil, 200, fencerow.Applied},
		{stale, 412, fencerow.Stale},
		{fmt.Errorf("behind: %w", stale), 412, fencerow.Stale},
		{fencerow.ErrDuplicate, 200, fencerow.Duplicate},
		{fencerow.ErrOutOfOrder, 409, fencerow.OutOfOrder},
		{fencerow.ErrTokenReused, 409, fencerow.TokenReused},
		{fencerow.ErrMismatch, 409, fencerow.SourceMismatch},
		{fencerow.ErrImplausible, 409, fencerow.Implausible},
		{fencerow.ErrUnclaimed, 409, fencerow.Unclaimed},
		{fencerow.ErrConflict, 409, fencerow.Conflict},
		{fencerow.ErrMissing, 404, fencerow.Missing},
		{fencerow.ErrRejected, 422, fencerow.Rejected},
		{fencerow.ErrUnfenced, 428, fencerow.Unfenced},
		{fmt.Errorf("%w: %w", fencerow.ErrAmbiguous, stale), 503, fencerow.Ambiguous},
		{errors.New("the password is 123"), 500, fencerow.Failed},
	} {
		t.Run(fmt.Sprint(c.err), func(t *testing.T) {
			var status int
			var body string
			record := roundTripper(func(r *http.Request) (*http.Response, error) {
				response, err := http.DefaultTransport.RoundTrip(r)
				if err == nil {
					text, _ := io.ReadAll(response.Body)
					status, body = response.StatusCode, string(text)
					response.Body = io.NopCloser(strings.NewReader(body))
				}
				return response, err
			})
			var told []fencerow.Verdict
			observer := &fencerow.Observer{Decided: func(_ context.Context, d fencerow.Decision) { told = append(told, d.Verdict) }}
			response, err := exchange(t, httpfence.NewContext(t.Context(), stamp), func(_ http.ResponseWriter, _ *http.Request, got fencerow.Stamp) error {
				if got != stamp {
					t.Errorf("the handler got %v", got)
				}
				return c.err
			}, &httpfence.Transport{Base: record, Observer: observer})
			switch c.want {
			case fencerow.Applied, fencerow.Duplicate, fencerow.Failed:
				if err != nil {
					t.Fatal(err)
				}
				defer response.Body.Close()
				if err = httpfence.Err(response); c.want == fencerow.Failed {
					err = errors.New("answer of another kind")
				}
			}
			if got := fencerow.VerdictOf(err); status != c.status || got != c.want {
				t.Errorf("status %d, want %d; the client gets %s (%v), want %s", status, c.status, got, err, c.want)
			}
			if strings.Contains(body, "123") {
				t.Errorf("the text of an error that is not the fence's was sent: %s", body)
			}
			if c.want == fencerow.Failed {
				if len(told) != 0 {
					t.Errorf("the observer was told %v", told)
				}
			} else if len(told) != 1 || told[0] != c.want {
				t.Errorf("the observer was told %v, want %s once", told, c.want)
			}
			var back *fencerow.StaleError
			if c.want == fencerow.Stale && (!errors.As(err, &back) || *back != *stale) {
				t.Errorf("the numbers came back as %+v", back)
			}
		})
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestRequestsWithoutAStampAreRefused(t *testing.T) {
	called := false
	handler := func(http.ResponseWriter, *http.Request, fencerow.Stamp) error { called = true; return nil }
	if _, err := exchange(t, t.Context(), handler, &httpfence.Transport{}); !errors.Is(err, fencerow.ErrNoToken) {
		t.Errorf("the transport: %v", err)
	}
	for header, want := range map[string]int{"": 428, "v1:5:g:s:account/42": 400, "nonsense;1": 400} {
		server := httptest.NewServer(httpfence.Require(handler))
		defer server.Close()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		if header != "" {
			request.Header.Set(httpfence.Header, header)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		body, _ := io.ReadAll(response.Body)
		if response.StatusCode != want || response.Header.Get("Content-Type") != "application/problem+json" || !strings.Contains(string(body), `"status":`) {
			t.Errorf("%q: %d %s", header, response.StatusCode, body)
		}
	}
	if called {
		t.Error("the handler was called")
	}
}

func TestReadsMayGoWithoutAStamp(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.Header.Get(httpfence.Header))
	}))
	defer server.Close()
	client := &http.Client{Transport: &httpfence.Transport{}}
	response, err := client.Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	client.Transport = &httpfence.Transport{Unstamped: func(*http.Request) bool { return false }}
	if _, err := client.Get(server.URL); !errors.Is(err, fencerow.ErrNoToken) {
		t.Errorf("none may: %v", err)
	}
}

// A stamp goes to the host that the request was made for, by the context and in no other way.
func TestStampsDoNotLeak(t *testing.T) {
	var seen []string
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { seen = append(seen, r.Header.Get(httpfence.Header)) }))
	defer other.Close()
	first := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, strings.Replace(other.URL, "127.0.0.1", "localhost", 1), http.StatusTemporaryRedirect)
	}))
	defer first.Close()
	client := &http.Client{Transport: &httpfence.Transport{}}
	request, err := http.NewRequestWithContext(httpfence.NewContext(t.Context(), stamp), http.MethodPost, first.URL, strings.NewReader("x"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Do(request); err == nil || !strings.Contains(err.Error(), "redirects") || len(seen) > 0 {
		t.Errorf("a redirect to another host: %v, it has seen %q", err, seen)
	}
	request, err = http.NewRequestWithContext(httpfence.NewContext(t.Context(), stamp), http.MethodPost, other.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set(httpfence.Header, "mine")
	if _, err := client.Do(request); !errors.Is(err, fencerow.ErrInvalidToken) || request.Header.Get(httpfence.Header) != "mine" {
		t.Errorf("a header that is there already: %v", err)
	}
}

// A gateway that has lost the service's answer, or no answer at all, leaves the outcome unknown.
func TestLostAnswersAreAmbiguous(t *testing.T) {
	for name, base := range map[string]roundTripper{
		"no answer": func(*http.Request) (*http.Response, error) { return nil, io.ErrUnexpectedEOF },
		"gateway": func(r *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: http.StatusBadGateway, Status: "502 Bad Gateway", Body: http.NoBody, Header: http.Header{}, Request: r}, nil
		},
	} {
		_, err := exchange(t, httpfence.NewContext(t.Context(), stamp), nil, &httpfence.Transport{Base: base})
		if !errors.Is(err, fencerow.ErrAmbiguous) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
