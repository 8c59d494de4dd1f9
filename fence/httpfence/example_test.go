package httpfence_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"

	"github.com/fencerow/fencerow"
	"github.com/fencerow/fencerow/fence/httpfence"
	"github.com/fencerow/fencerow/fence/memfence"
	"github.com/fencerow/fencerow/fence/sqlfence"
	"github.com/fencerow/fencerow/lock/memlock"
)

// The decision is made in the transaction that debits the account. Nothing in front of the handler could make it.
func ExampleRequire() {
	serve := func(ctx context.Context, db *sql.DB) error {
		gate, err := sqlfence.OpenGate(ctx, db, sqlfence.Postgres, nil)
		if err != nil {
			return err
		}
		mux := http.NewServeMux()
		mux.Handle("POST /accounts/{id}/debit", httpfence.Require(
			func(_ http.ResponseWriter, r *http.Request, stamp fencerow.Stamp) error {
				// The name comes from the route: a stamp of another account is refused.
				account := fencerow.Resource("account/" + r.PathValue("id"))
				return gate.Tx(r.Context(), stamp, account, func(ctx context.Context, tx *sqlfence.Tx) error {
					_, err := tx.ExecContext(ctx, "UPDATE accounts SET balance = balance - 100 WHERE id = $1", r.PathValue("id"))
					return err
				})
			}))
		return http.ListenAndServe("127.0.0.1:8080", mux)
	}
	_ = serve
}

// A holder stamps its requests. Once a newer one has reached the service, the requests of the older one are refused.
func ExampleTransport() {
	accounts := memfence.New[int](nil)
	service := httptest.NewServer(httpfence.Require(func(_ http.ResponseWriter, r *http.Request, stamp fencerow.Stamp) error {
		if _, err := accounts.Claim(r.Context(), stamp, "account/42"); err != nil {
			return err
		}
		return accounts.Write(r.Context(), stamp, "account/42", func(balance int) (int, error) { return balance - 100, nil })
	}))
	defer service.Close()
	client := &http.Client{Transport: &httpfence.Transport{}}
	debit := func(ctx context.Context, stamp fencerow.Stamp) error {
		request, err := http.NewRequestWithContext(httpfence.NewContext(ctx, stamp), http.MethodPost, service.URL, nil)
		if err != nil {
			return err
		}
		response, err := client.Do(request)
		if err != nil {
			return err
		}
		return response.Body.Close()
	}

	ctx := context.Background()
	locker, err := fencerow.New(memlock.New(), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer locker.Close()
	older, err := locker.Acquire(ctx, "account/42")
	if err != nil {
		log.Fatal(err)
	}
	delayed := older.Stamp() // taken, and not yet sent when the lease is given up
	if err := older.Release(ctx); err != nil {
		log.Fatal(err)
	}
	newer, err := locker.Acquire(ctx, "account/42")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("newer:", debit(ctx, newer.Stamp()))
	var stale *fencerow.StaleError
	fmt.Println("older is stale:", errors.As(debit(ctx, delayed), &stale))
	fmt.Println("it presented", stale.Presented, "and the account has seen", stale.Stored)

	// Output:
	// newer: <nil>
	// older is stale: true
	// it presented 1 and the account has seen 2
}
