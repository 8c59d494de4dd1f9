package pgxfence

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/fencerow/fencerow"
	"github.com/fencerow/fencerow/fence"
	"github.com/fencerow/fencerow/fence/sqlfence"
)

// Gate fences transactions: each resource has a row in the table fencerow_gate that a fenced transaction passes first. See
// [sqlfence.Gate]; both may be used side by side on one database.
type Gate struct{ gate *sqlfence.Gate }

// OpenGate returns the gate of a database, and creates its table if it is not there. See [sqlfence.OpenGate].
func OpenGate(ctx context.Context, db DB, opts *sqlfence.Options) (*Gate, error) {
	g, err := sqlfence.OpenGateOn(ctx, newDatabase(db), sqlfence.Postgres, opts)
	if err != nil {
		return nil, err
	}
	return &Gate{g}, nil
}

// Claim raises the mark of a resource to the stamp's token. See [sqlfence.Gate.Claim].
func (g *Gate) Claim(ctx context.Context, stamp fencerow.Stamp, resource fencerow.Resource) error {
	return g.gate.Claim(ctx, stamp, resource)
}

// Tx runs fn in a transaction that only the newest holder can commit. See [sqlfence.Gate.Tx].
func (g *Gate) Tx(ctx context.Context, stamp fencerow.Stamp, resource fencerow.Resource, fn func(context.Context, *Tx) error) error {
	return g.gate.Tx(ctx, stamp, resource, wrap(fn))
}

// TxAtCommit is [Gate.Tx] with the gate at the end. See [sqlfence.Gate.TxAtCommit].
func (g *Gate) TxAtCommit(ctx context.Context, stamp fencerow.Stamp, resource fencerow.Resource, fn func(context.Context, *Tx) error) error {
	return g.gate.TxAtCommit(ctx, stamp, resource, wrap(fn))
}

// Shared runs fn in a transaction during which no newer holder can claim. See [sqlfence.Gate.Shared].
func (g *Gate) Shared(ctx context.Context, stamp fencerow.Stamp, resource fencerow.Resource, fn func(context.Context, *Tx) error) error {
	return g.gate.Shared(ctx, stamp, resource, wrap(fn))
}

// Admit passes the gate within your own transaction, as its first statement. See [sqlfence.Gate.Admit].
func (g *Gate) Admit(ctx context.Context, tx pgx.Tx, stamp fencerow.Stamp, resource fencerow.Resource) (*Tx, error) {
	if _, err := g.gate.AdmitOn(ctx, &transaction{querier: querier{tx}, tx: tx}, stamp, resource); err != nil {
		return nil, err
	}
	return &Tx{tx: tx, stamp: stamp}, nil
}

// Handover lets the gate of a resource follow another token source. See [sqlfence.Gate.Handover].
func (g *Gate) Handover(ctx context.Context, resource fencerow.Resource, from, to string) error {
	return g.gate.Handover(ctx, resource, from, to)
}

// Override sets the mark of a resource by hand, on record. See [sqlfence.Gate.Override].
func (g *Gate) Override(ctx context.Context, resource fencerow.Resource, o fence.Override) error {
	return g.gate.Override(ctx, resource, o)
}

// Overrides returns the overrides of a resource, the oldest first. See [sqlfence.Gate.Overrides].
func (g *Gate) Overrides(ctx context.Context, resource fencerow.Resource) ([]sqlfence.Overridden, error) {
	return g.gate.Overrides(ctx, resource)
}

func wrap(fn func(context.Context, *Tx) error) func(context.Context, *sqlfence.Tx) error {
	return func(ctx context.Context, passed *sqlfence.Tx) error {
		return fn(ctx, &Tx{tx: passed.On().(*transaction).tx, stamp: passed.Stamp()})
	}
}

// Tx is a transaction that has passed the gate. Only a gate makes one, so a function that takes a *Tx cannot be called without a
// fence. It has the methods that sqlc's code for pgx expects; Commit and Rollback are the gate's.
type Tx struct {
	tx    pgx.Tx
	stamp fencerow.Stamp
}

// Stamp returns the stamp under which the transaction runs.
func (t *Tx) Stamp() fencerow.Stamp { return t.stamp }

// PGX returns the transaction for libraries that want a pgx.Tx, and nil for a zero Tx. Leave Commit and Rollback to the gate.
func (t *Tx) PGX() pgx.Tx { return t.tx }

// Exec executes a statement in the transaction.
func (t *Tx) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	return t.on().Exec(ctx, sql, args...)
}

// Query executes a query in the transaction.
func (t *Tx) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	return t.on().Query(ctx, sql, args...)
}

// QueryRow executes a query for one row in the transaction.
func (t *Tx) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	return t.on().QueryRow(ctx, sql, args...)
}

// SendBatch sends a batch in the transaction.
func (t *Tx) SendBatch(ctx context.Context, batch *pgx.Batch) pgx.BatchResults {
	return t.on().SendBatch(ctx, batch)
}

// CopyFrom copies rows into a table in the transaction.
func (t *Tx) CopyFrom(ctx context.Context, table pgx.Identifier, columns []string, rows pgx.CopyFromSource) (int64, error) {
	return t.on().CopyFrom(ctx, table, columns, rows)
}
