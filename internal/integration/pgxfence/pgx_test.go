// Package pgxfence tests the fence through pgx: batches, a single connection, and your own transactions.
package pgxfence

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/fencerow/fencerow"
	"github.com/fencerow/fencerow/fence/pgxfence"
	"github.com/fencerow/fencerow/fence/sqlfence"
	"github.com/fencerow/fencerow/fencerowtest"
	"github.com/fencerow/fencerow/internal/integration/servers"
)

func TestMain(m *testing.M) { servers.Main(m) }

const account = fencerow.Resource("account/42")

func grant(resource fencerow.Resource, number int64) fencerow.Token {
	return fencerowtest.Token("test:1", resource, number)
}

var schema = sqlfence.Schema{Name: "accounts", Class: "account", Key: []string{"id"}, Step: "fence_step", Grant: "fence_grant"}

func newPool(t *testing.T) *pgxpool.Pool {
	t.Helper()
	pool, err := pgxpool.New(t.Context(), servers.PostgresURL(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	for _, statement := range []string{
		`CREATE TABLE accounts (id bigint PRIMARY KEY, balance bigint NOT NULL DEFAULT 1000, fence_token bigint NOT NULL DEFAULT 0,
			fence_step bigint NOT NULL DEFAULT 0, fence_grant text NOT NULL DEFAULT '')`,
		"INSERT INTO accounts (id) VALUES (42), (43), (44)",
	} {
		if _, err := pool.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	return pool
}

func balances(t *testing.T, db interface {
	QueryRow(context.Context, string, ...any) pgx.Row
}) (text string) {
	t.Helper()
	if err := db.QueryRow(t.Context(), "SELECT string_agg(balance::text, ' ' ORDER BY id) FROM accounts").Scan(&text); err != nil {
		t.Fatal(err)
	}
	return text
}

func wantVerdict(t *testing.T, err error, want fencerow.Verdict, what string) {
	t.Helper()
	if got := fencerow.VerdictOf(err); got != want {
		t.Errorf("%s: %s (%v), want %s", what, got, err, want)
	}
}

// A batch of updates of several rows, each under its own lock, is applied as a whole or not at all, and says which row refused it.
func TestBatches(t *testing.T) {
	pool := newPool(t)
	var told []fencerow.Verdict
	table, err := pgxfence.OpenTable(t.Context(), pool, schema, &sqlfence.Options{Observer: &fencerow.Observer{
		Decided: func(_ context.Context, d fencerow.Decision) { told = append(told, d.Verdict) }}})
	if err != nil {
		t.Fatal(err)
	}
	tokens := map[int]fencerow.Token{}
	for id := 42; id <= 44; id++ {
		tokens[id] = grant(fencerow.Resource(fmt.Sprintf("account/%d", id)), 5)
		if err := table.Claim(t.Context(), tokens[id].Stamp(1), sqlfence.Key{id}, nil); err != nil {
			t.Fatal(err)
		}
	}
	send := func(step int64, ids ...int) ([]*pgxfence.Queued, error) {
		var batch pgxfence.Batch
		var queued []*pgxfence.Queued
		for _, id := range ids {
			q, err := table.Queue(&batch, tokens[id].Stamp(step), sqlfence.Key{id}, sqlfence.Set("balance = balance - ?", 1), sqlfence.Where("balance > ?", 0))
			if err != nil {
				t.Fatal(err)
			}
			wantVerdict(t, q.Err(), fencerow.Ambiguous, "before the batch is sent")
			queued = append(queued, q)
		}
		batch.Statement("SELECT 1")
		told = nil
		return queued, pgxfence.Send(t.Context(), pool, &batch)
	}
	if _, err := send(1, 42, 43, 44); err != nil || balances(t, pool) != "999 999 999" || len(told) != 3 {
		t.Errorf("%v, %s, told %v", err, balances(t, pool), told)
	}
	_, err = send(1, 42, 43, 44)
	wantVerdict(t, err, fencerow.Duplicate, "the same stamps")
	newer := grant("account/43", 6)
	if err := table.Claim(t.Context(), newer.Stamp(1), sqlfence.Key{43}, nil); err != nil {
		t.Fatal(err)
	}
	queued, err := send(2, 42, 43, 44)
	wantVerdict(t, err, fencerow.Stale, "one row has a newer holder")
	wantVerdict(t, queued[1].Err(), fencerow.Stale, "that row")
	if balances(t, pool) != "999 999 999" || len(told) != 3 {
		t.Errorf("%s, told %v", balances(t, pool), told)
	}
	if _, err := send(2, 42, 44); err != nil || balances(t, pool) != "998 999 998" {
		t.Errorf("without that row: %v, %s", err, balances(t, pool))
	}

	var batch pgxfence.Batch
	if _, err := table.Queue(&batch, fencerow.Stamp{}, sqlfence.Key{42}, sqlfence.Set("balance = 0")); !errors.Is(err, fencerow.ErrNoToken) {
		t.Errorf("no stamp: %v", err)
	}
	if _, err := table.Queue(&batch, tokens[42].Stamp(9), sqlfence.Key{42}); err == nil {
		t.Error("an update that changes nothing")
	}
	q, err := table.Queue(&batch, tokens[42].Stamp(9), sqlfence.Key{42}, sqlfence.Set("no_such_column = 1"))
	if err != nil {
		t.Fatal(err)
	}
	err = pgxfence.Send(t.Context(), pool, &batch)
	wantVerdict(t, err, fencerow.Failed, "a statement that fails")
	if q.Err() == nil || balances(t, pool) != "998 999 998" {
		t.Errorf("%v, %s", q.Err(), balances(t, pool))
	}
}

// The exact verdict of one statement is right behind an uncommitted newer one.
func TestBatchBehindAnUncommittedNewerOne(t *testing.T) {
	pool := newPool(t)
	table, err := pgxfence.OpenTable(t.Context(), pool, schema, nil)
	if err != nil {
		t.Fatal(err)
	}
	older, newer := grant(account, 33), grant(account, 34)
	if err := table.Claim(t.Context(), older.Stamp(1), sqlfence.Key{42}, nil); err != nil {
		t.Fatal(err)
	}
	tx, err := pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(context.Background())
	if err := table.In(tx).Claim(t.Context(), newer.Stamp(1), sqlfence.Key{42}, nil); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		var batch pgxfence.Batch
		_, err := table.Queue(&batch, older.Stamp(2), sqlfence.Key{42}, sqlfence.Set("balance = 0"))
		if err == nil {
			err = pgxfence.Send(context.Background(), pool, &batch)
		}
		done <- err
	}()
	select {
	case err := <-done:
		t.Fatalf("it did not wait: %v", err)
	case <-time.After(150 * time.Millisecond):
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	var stale *fencerow.StaleError
	if err := <-done; !errors.As(err, &stale) || stale.Stored != 34 {
		t.Errorf("%v, want stale, 34 stored", err)
	}
}

// A single connection works as a pool does, for one thing at a time.
func TestSingleConnection(t *testing.T) {
	pool := newPool(t)
	conn, err := pgx.ConnectConfig(t.Context(), pool.Config().ConnConfig)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	gate, err := pgxfence.OpenGate(t.Context(), conn, nil)
	if err != nil {
		t.Fatal(err)
	}
	table, err := pgxfence.OpenTable(t.Context(), conn, schema, nil)
	if err != nil {
		t.Fatal(err)
	}
	token := grant(account, 5)
	if err := table.Claim(t.Context(), token.Stamp(1), sqlfence.Key{42}, nil); err != nil {
		t.Fatal(err)
	}
	if err := table.Update(t.Context(), token.Stamp(1), sqlfence.Key{42}, sqlfence.Set("balance = 900")); err != nil {
		t.Fatal(err)
	}
	err = gate.Tx(t.Context(), token.Stamp(1), account, func(ctx context.Context, tx *pgxfence.Tx) error {
		if err := gate.Claim(ctx, token.Stamp(1), account); err == nil {
			t.Error("the connection did two things at once")
		}
		var batch pgx.Batch
		batch.Queue("UPDATE accounts SET balance = balance - 1 WHERE id = 42")
		batch.Queue("UPDATE accounts SET balance = balance - 1 WHERE id = 43")
		if err := tx.SendBatch(ctx, &batch).Close(); err != nil {
			return err
		}
		_, err := tx.CopyFrom(ctx, pgx.Identifier{"accounts"}, []string{"id"}, pgx.CopyFromRows([][]any{{45}}))
		return err
	})
	if err != nil || balances(t, conn) != "899 999 1000 1000" {
		t.Errorf("%v, %s", err, balances(t, conn))
	}
}

func TestAdmitInYourOwnTransaction(t *testing.T) {
	pool := newPool(t)
	gate, err := pgxfence.OpenGate(t.Context(), pool, nil)
	if err != nil {
		t.Fatal(err)
	}
	token := grant(account, 5)
	if err := gate.Claim(t.Context(), token.Stamp(1), account); err != nil {
		t.Fatal(err)
	}
	tx, err := pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(context.Background())
	passed, err := gate.Admit(t.Context(), tx, token.Stamp(1), account)
	if err != nil || passed.PGX() != tx || passed.Stamp() != token.Stamp(1) {
		t.Fatal(err)
	}
	if _, err := passed.Exec(t.Context(), "UPDATE accounts SET balance = 0 WHERE id = 42"); err != nil {
		t.Fatal(err)
	}
	if err := tx.Commit(t.Context()); err != nil || balances(t, pool) != "0 1000 1000" {
		t.Errorf("%v, %s", err, balances(t, pool))
	}
}

func TestZeroTxPassesNothing(t *testing.T) {
	var tx pgxfence.Tx
	var n int
	_, execErr := tx.Exec(t.Context(), "SELECT 1")
	_, queryErr := tx.Query(t.Context(), "SELECT 1")
	_, copyErr := tx.CopyFrom(t.Context(), nil, nil, nil)
	results := tx.SendBatch(t.Context(), new(pgx.Batch))
	_, batchErr := results.Exec()
	for _, err := range []error{execErr, queryErr, copyErr, batchErr, results.Close(), results.QueryRow().Scan(&n), tx.QueryRow(t.Context(), "SELECT 1").Scan(&n)} {
		if !errors.Is(err, fencerow.ErrNoToken) {
			t.Errorf("%v, want ErrNoToken", err)
		}
	}
}

// A claim that is blocked names who blocks it, through a pool.
func TestBlockedClaim(t *testing.T) {
	pool := newPool(t)
	gate, err := pgxfence.OpenGate(t.Context(), pool, &sqlfence.Options{ClaimTimeout: 2 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	older, newer := grant(account, 33), grant(account, 34)
	inside, proceed, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		done <- gate.Tx(context.Background(), older.Stamp(1), account, func(context.Context, *pgxfence.Tx) error {
			close(inside)
			<-proceed
			return nil
		})
	}()
	<-inside
	var blocked *sqlfence.BlockedError
	if err := gate.Claim(t.Context(), newer.Stamp(1), account); !errors.As(err, &blocked) || len(blocked.Blockers) != 1 {
		t.Errorf("%v", err)
	}
	close(proceed)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestNoSuchIsolation(t *testing.T) {
	pool := newPool(t)
	gate, err := pgxfence.OpenGate(t.Context(), pool, &sqlfence.Options{Isolation: 8}) // linearizable
	if err != nil {
		t.Fatal(err)
	}
	if err := gate.Tx(t.Context(), grant(account, 5).Stamp(1), account, func(context.Context, *pgxfence.Tx) error { return nil }); err == nil {
		t.Error("it was accepted")
	}
}
