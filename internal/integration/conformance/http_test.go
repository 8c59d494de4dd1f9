package conformance

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/fencerow/fencerow"
	"github.com/fencerow/fencerow/fence"
	"github.com/fencerow/fencerow/fence/httpfence"
	"github.com/fencerow/fencerow/fence/sqlfence"
	"github.com/fencerow/fencerow/fencerowtest"
	"github.com/fencerow/fencerow/internal/integration/wire"
)

// The whole way: a stamp goes into a header, a service asks for it, its handler's transaction decides, and the answer comes back.
func TestHTTPFenceConforms(t *testing.T) {
	t.Parallel()
	a := newAccounts(t, databases[0])
	gate, err := sqlfence.OpenGate(t.Context(), a.db, a.dialect, &sqlfence.Options{MaxJump: 1 << 62})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(accountService(gateFence{a, a.db, gate, false}))
	t.Cleanup(server.Close)
	fencerowtest.TestFence(t, fencerowtest.FenceHarness{
		Name: "httpfence before sqlfence.Gate on SQLite",
		Open: func(context.Context) (fencerowtest.Fence, error) { return newHTTPFence(t, a, server.URL), nil },
		OpenWired: func(context.Context) (fencerowtest.Fence, fencerowtest.Wire, error) {
			w := wire.Start(t, host.FindString(server.URL))
			return newHTTPFence(t, a, host.ReplaceAllString(server.URL, w.Addr())), w, nil
		},
		NewResource: a.insert,
		Features:    fencerowtest.Features{Claims: true, Steps: true, Sources: true, MaxJump: 1 << 62},
	})
}

// accountService is a service over a fence.
func accountService(f gateFence) http.Handler {
	mux := http.NewServeMux()
	resource := func(r *http.Request) fencerow.Resource { return fencerow.Resource(r.URL.Query().Get("resource")) }
	mux.Handle("POST /claim", httpfence.Require(func(w http.ResponseWriter, r *http.Request, stamp fencerow.Stamp) error {
		value, err := f.Claim(r.Context(), stamp, resource(r))
		if err == nil {
			_, err = fmt.Fprint(w, value)
		}
		return err
	}))
	mux.Handle("POST /write", httpfence.Require(func(w http.ResponseWriter, r *http.Request, stamp fencerow.Stamp) error {
		value, err := strconv.ParseInt(r.URL.Query().Get("value"), 10, 64)
		if err != nil {
			return err
		}
		return f.Write(r.Context(), stamp, resource(r), value)
	}))
	mux.Handle("POST /transfer", httpfence.Require(func(w http.ResponseWriter, r *http.Request, stamp fencerow.Stamp) error {
		amount, err := strconv.ParseInt(r.URL.Query().Get("value"), 10, 64)
		if err != nil {
			return err
		}
		return f.Transfer(r.Context(), stamp, resource(r), amount)
	}))
	return mux
}

// httpFence is a client of the service. It looks at the database directly.
type httpFence struct {
	direct gateFence
	url    string
	client *http.Client
}

func newHTTPFence(t *testing.T, a accounts, url string) httpFence {
	base := http.DefaultTransport.(*http.Transport).Clone()
	t.Cleanup(base.CloseIdleConnections)
	return httpFence{gateFence{accounts: a}, url, &http.Client{Transport: &httpfence.Transport{Base: base}}}
}

// post sends a stamp until the answer is definite, as a client does.
func (f httpFence) post(ctx context.Context, s fencerow.Stamp, r fencerow.Resource, path string, value int64) (text string, err error) {
	query := url.Values{"resource": {string(r)}, "value": {strconv.FormatInt(value, 10)}}
	err = fence.Resolve(ctx, true, func() error {
		request, err := http.NewRequestWithContext(httpfence.NewContext(ctx, s), http.MethodPost, f.url+path+"?"+query.Encode(), nil)
		if err != nil {
			return err
		}
		response, err := f.client.Do(request)
		if err != nil {
			return err
		}
		defer response.Body.Close()
		if err := httpfence.Err(response); err != nil {
			return err
		}
		body, err := io.ReadAll(response.Body)
		if err != nil {
			return fmt.Errorf("%w: %w", fencerow.ErrAmbiguous, err)
		}
		if response.StatusCode != http.StatusOK {
			return errors.New(response.Status)
		}
		text = string(body)
		return nil
	})
	return text, err
}

func (f httpFence) Claim(ctx context.Context, s fencerow.Stamp, r fencerow.Resource) (int64, error) {
	text, err := f.post(ctx, s, r, "/claim", 0)
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(strings.TrimSpace(text), 10, 64)
}

func (f httpFence) Write(ctx context.Context, s fencerow.Stamp, r fencerow.Resource, value int64) error {
	_, err := f.post(ctx, s, r, "/write", value)
	return err
}

func (f httpFence) Transfer(ctx context.Context, s fencerow.Stamp, r fencerow.Resource, amount int64) error {
	_, err := f.post(ctx, s, r, "/transfer", amount)
	return err
}

func (f httpFence) Load(ctx context.Context, r fencerow.Resource) (value, number int64, err error) {
	return f.direct.Load(ctx, r)
}

// LoadPair implements [fencerowtest.Transferrer].
func (f httpFence) LoadPair(ctx context.Context, r fencerow.Resource) (first, second int64, err error) {
	return f.direct.LoadPair(ctx, r)
}
