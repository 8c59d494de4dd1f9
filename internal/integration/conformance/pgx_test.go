package conformance

import (
	"context"
	"crypto/rand"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/fencerow/fencerow"
	"github.com/fencerow/fencerow/fence/pgxfence"
	"github.com/fencerow/fencerow/fence/sqlfence"
	"github.com/fencerow/fencerow/fencerowtest"
	"github.com/fencerow/fencerow/internal/integration/servers"
	"github.com/fencerow/fencerow/internal/integration/wire"
)

func TestPgxFencesConform(t *testing.T) {
	for name, hold := range map[string]func(*testing.T, pgxAccounts){"row": holdPgxTable, "gate": holdPgxGate, "batch": holdPgxBatch} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address := servers.PostgresURL(t)
			pool := openPool(t, address)
			if _, err := pool.Exec(t.Context(), createAccounts); err != nil {
				t.Fatal(err)
			}
			hold(t, pgxAccounts{pool, address})
		})
	}
}

func openPool(t *testing.T, address string) *pgxpool.Pool {
	t.Helper()
	pool, err := pgxpool.New(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool
}

// pgxAccounts has the statements of the harness, which go around the fence.
type pgxAccounts struct {
	pool    *pgxpool.Pool
	address string
}

// wired opens a fence as open does, through a wire.
func (a pgxAccounts) wired(t *testing.T, open func(context.Context, *pgxpool.Pool) (fencerowtest.Fence, error)) func(context.Context) (fencerowtest.Fence, fencerowtest.Wire, error) {
	return func(ctx context.Context) (fencerowtest.Fence, fencerowtest.Wire, error) {
		w := wire.Start(t, host.FindString(a.address))
		fence, err := open(ctx, openPool(t, host.ReplaceAllString(a.address, w.Addr())))
		return fence, w, err
	}
}

func (a pgxAccounts) insert(ctx context.Context) (fencerow.Resource, error) {
	id := rand.Text()
	_, err := a.pool.Exec(ctx, "INSERT INTO account_balances (account_id) VALUES ($1)", id)
	return fencerow.Resource("account/" + id), err
}

var pgxSchema = sqlfence.Schema{Name: "account_balances", Class: "account", Key: []string{"account_id"}, Step: "fence_step", Grant: "fence_grant"}

func holdPgxTable(t *testing.T, a pgxAccounts) {
	a.hold(t, "pgxfence.Table", func(ctx context.Context, pool *pgxpool.Pool) (fencerowtest.Fence, error) {
		table, err := pgxfence.OpenTable(ctx, pool, pgxSchema, nil)
		return pgxRow{a, table}, err
	})
}

func (a pgxAccounts) hold(t *testing.T, name string, open func(context.Context, *pgxpool.Pool) (fencerowtest.Fence, error)) {
	fencerowtest.TestFence(t, fencerowtest.FenceHarness{
		Name:        name,
		Open:        func(ctx context.Context) (fencerowtest.Fence, error) { return open(ctx, a.pool) },
		OpenWired:   a.wired(t, open),
		NewResource: a.insert,
		Features:    fencerowtest.Features{Claims: true, Steps: true, Missing: true},
		SetNull: func(ctx context.Context, r fencerow.Resource) error {
			_, err := a.pool.Exec(ctx, "UPDATE account_balances SET fence_token = NULL WHERE account_id = $1", r.ID())
			return err
		},
	})
}

type pgxRow struct {
	pgxAccounts
	table *pgxfence.Table
}

func (f pgxRow) Claim(ctx context.Context, s fencerow.Stamp, r fencerow.Resource) (value int64, err error) {
	err = f.table.Claim(ctx, s, sqlfence.Key{r.ID()}, sqlfence.Into{"balance": &value})
	return value, err
}

func (f pgxRow) Write(ctx context.Context, s fencerow.Stamp, r fencerow.Resource, value int64) error {
	return f.table.Update(ctx, s, sqlfence.Key{r.ID()}, sqlfence.Set("balance = ?", value))
}

func (f pgxRow) Load(ctx context.Context, r fencerow.Resource) (value, number int64, err error) {
	err = f.pool.QueryRow(ctx, "SELECT balance, COALESCE(fence_token, -1) FROM account_balances WHERE account_id = $1", r.ID()).Scan(&value, &number)
	return value, number, err
}

// holdPgxBatch holds an update that is sent in a batch of one, in a transaction.
func holdPgxBatch(t *testing.T, a pgxAccounts) {
	a.hold(t, "pgxfence.Table, batches", func(ctx context.Context, pool *pgxpool.Pool) (fencerowtest.Fence, error) {
		table, err := pgxfence.OpenTable(ctx, pool, pgxSchema, nil)
		return pgxBatch{pgxRow{a, table}, pool}, err
	})
}

type pgxBatch struct {
	pgxRow
	through *pgxpool.Pool
}

func (f pgxBatch) Write(ctx context.Context, s fencerow.Stamp, r fencerow.Resource, value int64) error {
	var batch pgxfence.Batch
	if _, err := f.table.Queue(&batch, s, sqlfence.Key{r.ID()}, sqlfence.Set("balance = ?", value)); err != nil {
		return err
	}
	return pgxfence.Send(ctx, f.through, &batch)
}

func holdPgxGate(t *testing.T, a pgxAccounts) {
	open := func(ctx context.Context, pool *pgxpool.Pool) (fencerowtest.Fence, error) {
		gate, err := pgxfence.OpenGate(ctx, pool, nil)
		return pgxGate{a, pool, gate}, err
	}
	fencerowtest.TestFence(t, fencerowtest.FenceHarness{
		Name:        "pgxfence.Gate",
		Open:        func(ctx context.Context) (fencerowtest.Fence, error) { return open(ctx, a.pool) },
		OpenWired:   a.wired(t, open),
		NewResource: a.insert,
		Features:    fencerowtest.Features{Claims: true, Steps: true, Sources: true},
	})
}

type pgxGate struct {
	pgxAccounts
	through *pgxpool.Pool // the gate's own
	gate    *pgxfence.Gate
}

func (f pgxGate) Claim(ctx context.Context, s fencerow.Stamp, r fencerow.Resource) (value int64, err error) {
	if err := f.gate.Claim(ctx, s, r); err != nil {
		return 0, err
	}
	err = f.gate.Shared(ctx, s, r, func(ctx context.Context, tx *pgxfence.Tx) error {
		return tx.QueryRow(ctx, "SELECT balance FROM account_balances WHERE account_id = $1", r.ID()).Scan(&value)
	})
	return value, err
}

func (f pgxGate) Write(ctx context.Context, s fencerow.Stamp, r fencerow.Resource, value int64) error {
	return f.Transact(ctx, s, r, []int64{value}, func(context.Context) error { return nil })
}

// Transact implements [fencerowtest.Transactor], and checks that the grant has claimed, as gateFence does.
func (f pgxGate) Transact(ctx context.Context, s fencerow.Stamp, r fencerow.Resource, values []int64, last func(context.Context) error) error {
	if err := f.unclaimed(ctx, s, r); err != nil {
		return err
	}
	return f.gate.Tx(ctx, s, r, func(ctx context.Context, tx *pgxfence.Tx) error {
		for _, value := range values {
			if _, err := tx.Exec(ctx, "UPDATE account_balances SET balance = $1 WHERE account_id = $2", value, r.ID()); err != nil {
				return err
			}
		}
		return last(ctx)
	})
}

func (f pgxGate) unclaimed(ctx context.Context, s fencerow.Stamp, r fencerow.Resource) error {
	tx, err := f.through.Begin(ctx)
	if err != nil {
		return err
	}
	defer tx.Rollback(context.WithoutCancel(ctx))
	if _, err := f.gate.Admit(ctx, tx, s.Token().Stamp(s.Step()), r); errors.Is(err, fencerow.ErrUnclaimed) {
		return err
	}
	return nil
}

func (f pgxGate) Load(ctx context.Context, r fencerow.Resource) (value, number int64, err error) {
	err = f.pool.QueryRow(ctx, `SELECT balance, COALESCE((SELECT fence_token FROM fencerow_gate WHERE resource = $1), 0)
		FROM account_balances WHERE account_id = $2`, string(r), r.ID()).Scan(&value, &number)
	return value, number, err
}
