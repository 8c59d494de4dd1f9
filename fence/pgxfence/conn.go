package pgxfence

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/fencerow/fencerow/sqlconn"
)

// DB is a *pgxpool.Pool, a *pgxpool.Conn or a *pgx.Conn. Of these only a pool can ask, while a claim is blocked, who blocks it.
type DB interface {
	pgxQuerier
	BeginTx(ctx context.Context, options pgx.TxOptions) (pgx.Tx, error)
}

// pgxQuerier is what pools, connections and transactions have in common.
type pgxQuerier interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// querier sends statements through pgx.
type querier struct{ on pgxQuerier }

func (q querier) Exec(ctx context.Context, statement string, args ...any) (sqlconn.Result, error) {
	tag, err := q.on.Exec(ctx, statement, args...)
	return sqlconn.Result{Rows: tag.RowsAffected()}, err
}

func (q querier) Query(ctx context.Context, query string, args []any, row func(func(...any) error) error) error {
	rows, err := q.on.Query(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := row(rows.Scan); err != nil {
			return err
		}
	}
	rows.Close()
	return rows.Err()
}

// database is a pool, or a single connection that is used for one thing at a time.
type database struct {
	querier
	db     DB
	single *sync.Mutex // nil for a pool
}

func newDatabase(db DB) *database {
	d := &database{querier: querier{db}, db: db}
	if _, pool := db.(interface{ Reset() }); !pool {
		d.single = new(sync.Mutex)
	}
	return d
}

var errBusy = errors.New("pgxfence: the connection is busy; use a pool to work side by side")

func (d *database) take() (free func(), err error) {
	if d.single == nil {
		return func() {}, nil
	}
	if !d.single.TryLock() {
		return nil, errBusy
	}
	return sync.OnceFunc(d.single.Unlock), nil
}

func (d *database) Exec(ctx context.Context, statement string, args ...any) (sqlconn.Result, error) {
	free, err := d.take()
	if err != nil {
		return sqlconn.Result{}, err
	}
	defer free()
	return d.querier.Exec(ctx, statement, args...)
}

func (d *database) Query(ctx context.Context, query string, args []any, row func(func(...any) error) error) error {
	free, err := d.take()
	if err != nil {
		return err
	}
	defer free()
	return d.querier.Query(ctx, query, args, row)
}

func (d *database) Begin(ctx context.Context, isolation sql.IsolationLevel) (sqlconn.Tx, error) {
	level, err := isolationOf(isolation)
	if err != nil {
		return nil, err
	}
	free, err := d.take()
	if err != nil {
		return nil, err
	}
	tx, err := d.db.BeginTx(ctx, pgx.TxOptions{IsoLevel: level})
	if err != nil {
		free()
		return nil, err
	}
	return &transaction{querier: querier{tx}, tx: tx, free: free}, nil
}

func isolationOf(level sql.IsolationLevel) (pgx.TxIsoLevel, error) {
	switch level {
	case sql.LevelDefault:
		return "", nil
	case sql.LevelReadUncommitted:
		return pgx.ReadUncommitted, nil
	case sql.LevelReadCommitted:
		return pgx.ReadCommitted, nil
	case sql.LevelRepeatableRead, sql.LevelSnapshot:
		return pgx.RepeatableRead, nil
	case sql.LevelSerializable:
		return pgx.Serializable, nil
	}
	return "", fmt.Errorf("pgxfence: Postgres has no isolation level %v", level)
}

// transaction is a pgx.Tx. One that the caller began has nothing to free.
type transaction struct {
	querier
	tx   pgx.Tx
	free func()
}

func (t *transaction) Commit(ctx context.Context) error {
	err := t.tx.Commit(ctx)
	if errors.Is(err, pgx.ErrTxClosed) {
		return sql.ErrTxDone
	}
	return err
}

func (t *transaction) Rollback() error {
	defer t.free()
	err := t.tx.Rollback(context.Background())
	if errors.Is(err, pgx.ErrTxClosed) {
		return nil
	}
	return err
}
