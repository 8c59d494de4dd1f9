// Package httpfence tests stamps over HTTP against a real service and database: what the conformance kit does not provoke.
package httpfence

import (
	"context"
	"database/sql"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/fencerow/fencerow"
	"github.com/fencerow/fencerow/fence"
	"github.com/fencerow/fencerow/fence/httpfence"
	"github.com/fencerow/fencerow/fence/sqlfence"
	"github.com/fencerow/fencerow/fencerowtest"
	"github.com/fencerow/fencerow/lock/memlock"

	_ "modernc.org/sqlite" // the driver of the tests
)

const account = fencerow.Resource("account/42")

func grant(number int64) fencerow.Token { return fencerowtest.Token("test:1", account, number) }

// bank is a service with account 42, which holds 1000.
type bank struct {
	db   *sql.DB
	gate *sqlfence.Gate
	*httptest.Server
}

func newBank(t *testing.T, handler func(*bank) httpfence.HandlerFunc) *bank {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(t.TempDir(), "test.db")+"?_txlock=immediate&_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	b := &bank{db: db}
	for _, statement := range []string{"CREATE TABLE accounts (id bigint PRIMARY KEY, balance bigint NOT NULL)", "INSERT INTO accounts VALUES (42, 1000)"} {
		if _, err := db.Exec(statement); err != nil {
			t.Fatal(err)
		}
	}
	if b.gate, err = sqlfence.OpenGate(t.Context(), db, sqlfence.SQLite, nil); err != nil {
		t.Fatal(err)
	}
	b.Server = httptest.NewServer(httpfence.Require(handler(b)))
	t.Cleanup(b.Close)
	return b
}

func (b *bank) balance(t *testing.T) (balance int64) {
	t.Helper()
	if err := b.db.QueryRow("SELECT balance FROM accounts").Scan(&balance); err != nil {
		t.Fatal(err)
	}
	return balance
}

// debit decides in its own transaction.
func debit(b *bank) httpfence.HandlerFunc {
	return func(_ http.ResponseWriter, r *http.Request, stamp fencerow.Stamp) error {
		return b.gate.Tx(r.Context(), stamp, account, func(ctx context.Context, tx *sqlfence.Tx) error {
			_, err := tx.ExecContext(ctx, "UPDATE accounts SET balance = balance - 1")
			return err
		})
	}
}

func (b *bank) post(ctx context.Context, client *http.Client, stamp fencerow.Stamp) error {
	request, err := http.NewRequestWithContext(httpfence.NewContext(ctx, stamp), http.MethodPost, b.URL, nil)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode >= 400 {
		return errors.New(response.Status)
	}
	return httpfence.Err(response)
}

// losing drops the answer to every request at first, and lets its repetition through. The service has carried it out.
type losing struct {
	requests atomic.Int64
	lost     atomic.Int64
}

func (l *losing) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := http.DefaultTransport.RoundTrip(r)
	if err != nil || l.requests.Add(1)%2 == 0 {
		return response, err
	}
	_, _ = io.Copy(io.Discard, response.Body)
	_ = response.Body.Close()
	l.lost.Add(1)
	return nil, io.ErrUnexpectedEOF
}

// An answer that was lost behind a debit is resolved by sending the stamp again, and the debit is made once.
func TestLostHTTPAnswersAreResolved(t *testing.T) {
	const rounds = 200
	b := newBank(t, debit)
	base := &losing{}
	client := &http.Client{Transport: &httpfence.Transport{Base: base}}
	token := grant(5)
	for round := range int64(rounds) {
		stamp := token.Stamp(round + 1)
		err := fence.Resolve(t.Context(), true, func() error { return b.post(t.Context(), client, stamp) })
		if err != nil || b.balance(t) != 1000-round-1 {
			t.Fatalf("round %d: %v, balance %d", round, err, b.balance(t))
		}
	}
	if n := base.lost.Load(); n != rounds {
		t.Errorf("%d answers were lost in %d rounds", n, rounds)
	}
}

// A service that compares in front of its handler, with the newest number that it has seen, admits a request that was checked before the
// newer holder came. One that decides in its transaction does not.
func TestCheckInFrontOfTheHandlerIsTooEarly(t *testing.T) {
	checked, proceed := make(chan struct{}), make(chan struct{})
	hold := func() { close(checked); <-proceed }
	for name, c := range map[string]struct {
		handler func(*bank) httpfence.HandlerFunc
		trap    bool
	}{
		"in front": {func(b *bank) httpfence.HandlerFunc {
			var newest atomic.Int64
			return func(_ http.ResponseWriter, _ *http.Request, stamp fencerow.Stamp) error {
				n := stamp.Token().Number()
				if n < newest.Load() {
					return &fencerow.StaleError{Resource: account, Presented: n, Stored: newest.Load()}
				}
				newest.Store(n)
				if n == 33 {
					hold() // a pause of the service, or of the network behind it
				}
				_, err := b.db.Exec("UPDATE accounts SET balance = balance - 1")
				return err
			}
		}, true},
		"in the transaction": {func(b *bank) httpfence.HandlerFunc {
			fenced := debit(b)
			return func(w http.ResponseWriter, r *http.Request, stamp fencerow.Stamp) error {
				if stamp.Token().Number() == 33 {
					hold()
				}
				return fenced(w, r, stamp)
			}
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			checked, proceed = make(chan struct{}), make(chan struct{})
			b := newBank(t, c.handler)
			client := &http.Client{Transport: &httpfence.Transport{}}
			older := make(chan error, 1)
			go func() { older <- b.post(context.Background(), client, grant(33).Stamp(1)) }()
			<-checked
			if err := b.post(t.Context(), client, grant(34).Stamp(1)); err != nil {
				t.Fatal(err)
			}
			close(proceed)
			err := <-older
			if c.trap && (err != nil || b.balance(t) != 998) {
				t.Errorf("the trap is gone: %v, balance %d", err, b.balance(t))
			}
			if !c.trap && (!errors.Is(err, fencerow.ErrStale) || b.balance(t) != 999) {
				t.Errorf("%v, balance %d", err, b.balance(t))
			}
		})
	}
}

// A stale answer of a service ends the lease of the client.
func TestStaleHTTPAnswerEndsTheLease(t *testing.T) {
	b := newBank(t, debit)
	locker, err := fencerow.New(memlock.New(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer locker.Close()
	lease, err := locker.Acquire(t.Context(), account)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &httpfence.Transport{}}
	if err := b.post(t.Context(), client, lease.Stamp()); err != nil {
		t.Fatal(err)
	}
	newer := fencerowtest.Token(locker.Source(), account, lease.Token().Number()+1)
	if err := b.post(t.Context(), client, newer.Stamp(1)); err != nil {
		t.Fatal(err)
	}
	if err := b.post(t.Context(), client, lease.Stamp()); !errors.Is(err, fencerow.ErrStale) {
		t.Errorf("the older holder: %v", err)
	}
	if err := lease.Err(); !errors.Is(err, fencerow.ErrLost) || !errors.Is(err, fencerow.ErrStale) {
		t.Errorf("the lease: %v", err)
	}
}
