package pgxfence

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/fencerow/fencerow/fence/sqlfence"
)

// Table fences the rows of one table. Its operations are those of [sqlfence.Table].
type Table struct{ *sqlfence.Table }

// OpenTable checks the schema against the database and returns the table. See [sqlfence.OpenTable].
func OpenTable(ctx context.Context, db DB, schema sqlfence.Schema, opts *sqlfence.Options) (*Table, error) {
	t, err := sqlfence.OpenTableOn(ctx, newDatabase(db), sqlfence.Postgres, schema, opts)
	if err != nil {
		return nil, err
	}
	return &Table{t}, nil
}

// In returns the table within your transaction: the operations run there and have their effect when you commit. Roll back after any
// error. A transaction that reads before it writes should go through a [Gate].
func (t *Table) In(tx pgx.Tx) *Table { return &Table{t.On(querier{tx})} }
