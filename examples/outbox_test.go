package examples

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"

	"github.com/fencerow/fencerow"
	"github.com/fencerow/fencerow/fence/httpfence"
	"github.com/fencerow/fencerow/fence/sqlfence"
	"github.com/fencerow/fencerow/lock/memlock"
)

// A fence cannot call back what has left the resource: a payment, a mail. So the worker sends nothing. It writes what is to be sent into an
// outbox, in the fenced transaction, with the stamp of that transaction; a relay with a lock of its own sends it, under an idempotency key
// that is derived from the stamp. A worker that dies after its commit has lost nothing, and a relay that was superseded in the middle sends
// twice what the receiver takes once.
func Example_outbox() {
	ctx := context.Background()
	db, done := openDatabase()
	defer done()
	mustExec(db, "CREATE TABLE accounts (id INTEGER PRIMARY KEY, balance INTEGER NOT NULL)")
	mustExec(db, "INSERT INTO accounts VALUES (42, 1000)")
	mustExec(db, "CREATE TABLE outbox (id INTEGER PRIMARY KEY, stamp TEXT NOT NULL, payment TEXT NOT NULL, sent INTEGER NOT NULL DEFAULT 0)")
	gate, err := sqlfence.OpenGate(ctx, db, sqlfence.SQLite, nil)
	if err != nil {
		log.Fatal(err)
	}
	locker, err := fencerow.New(memlock.New(), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer locker.Close()
	bank := newReceiver()
	defer bank.Close()

	// The worker takes the money and writes what is to be paid. Then it dies.
	worker, err := locker.Acquire(ctx, "account/42")
	if err != nil {
		log.Fatal(err)
	}
	err = gate.Tx(ctx, worker.Stamp(), "account/42", func(ctx context.Context, tx *sqlfence.Tx) error {
		stamp, err := httpfence.FormatHeader(tx.Stamp())
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, "UPDATE accounts SET balance = balance - 100 WHERE id = 42"); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, "INSERT INTO outbox (stamp, payment) VALUES (?, ?)", stamp, "100 to Ann")
		return err
	})
	fmt.Println("worker:", err)

	// The first relay sends, and is frozen before it can write that down. Its lease ends, and a second one takes over.
	first, second := newRelay(locker, gate, db, bank.URL), newRelay(locker, gate, db, bank.URL)
	first.acquire(ctx)
	first.send(ctx)
	_ = first.lease.Release(ctx) // as the lock service sees it
	second.acquire(ctx)
	second.send(ctx)
	fmt.Println("second relay:", second.markSent(ctx))
	fmt.Println("first relay, late, is stale:", errors.Is(first.markSent(ctx), fencerow.ErrStale))
	fmt.Println("requests:", bank.requests, "payments:", bank.payments)

	// Output:
	// worker: <nil>
	// second relay: <nil>
	// first relay, late, is stale: true
	// requests: 2 payments: [100 to Ann]
}

const outbox = fencerow.Resource("outbox/payments")

// relay sends what is in the outbox, in its order. Whoever has the lease of the outbox is the one who sends.
type relay struct {
	locker *fencerow.Locker
	gate   *sqlfence.Gate
	db     *sql.DB
	url    string

	lease *fencerow.Lease
	sent  []int64
}

func newRelay(locker *fencerow.Locker, gate *sqlfence.Gate, db *sql.DB, url string) *relay {
	return &relay{locker: locker, gate: gate, db: db, url: url}
}

// acquire takes the lease and claims the outbox, before the first read.
func (r *relay) acquire(ctx context.Context) {
	var err error
	if r.lease, err = r.locker.Acquire(ctx, outbox); err != nil {
		log.Fatal(err)
	}
	if err := r.gate.Claim(ctx, r.lease.Stamp(), outbox); err != nil {
		log.Fatal(err)
	}
}

// send sends all that was not sent, and remembers it.
func (r *relay) send(ctx context.Context) {
	rows, err := r.db.QueryContext(ctx, "SELECT id, stamp, payment FROM outbox WHERE sent = 0 ORDER BY id")
	if err != nil {
		log.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var id int64
		var text, payment string
		if err := rows.Scan(&id, &text, &payment); err != nil {
			log.Fatal(err)
		}
		stamp, err := httpfence.ParseHeader(text)
		if err != nil {
			log.Fatal(err)
		}
		key, err := httpfence.IdempotencyKey(stamp)
		if err != nil {
			log.Fatal(err)
		}
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, r.url, strings.NewReader(payment))
		if err != nil {
			log.Fatal(err)
		}
		request.Header.Set("Idempotency-Key", key)
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			log.Fatal(err) // a real relay would send it again
		}
		_ = response.Body.Close()
		if response.StatusCode != http.StatusOK {
			log.Fatal(response.Status) // so here; what was not taken is not sent
		}
		r.sent = append(r.sent, id)
	}
	if err := rows.Err(); err != nil {
		log.Fatal(err)
	}
}

// markSent writes down what was sent, unless a newer relay has taken over.
func (r *relay) markSent(ctx context.Context) error {
	return r.gate.Tx(ctx, r.lease.Stamp(), outbox, func(ctx context.Context, tx *sqlfence.Tx) error {
		for _, id := range r.sent {
			if _, err := tx.ExecContext(ctx, "UPDATE outbox SET sent = 1 WHERE id = ?", id); err != nil {
				return err
			}
		}
		return nil
	})
}

// receiver is a bank that knows no stamps, and recognizes a request that is sent twice by its key.
type receiver struct {
	*httptest.Server
	mu       sync.Mutex
	seen     map[string]bool
	requests int
	payments []string
}

func newReceiver() *receiver {
	b := &receiver{seen: map[string]bool{}}
	b.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.requests++
		if key := r.Header.Get("Idempotency-Key"); !b.seen[key] {
			b.seen[key] = true
			payment, err := io.ReadAll(r.Body)
			if err != nil {
				log.Fatal(err)
			}
			b.payments = append(b.payments, string(payment))
		}
	}))
	return b
}
