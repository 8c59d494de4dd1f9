package sqlfence

import (
	"context"
	"database/sql"
	"errors"

	"github.com/fencerow/fencerow/sqlconn"
)

// stdQuerier is what *sql.DB, *sql.Tx and *sql.Conn have in common.
type stdQuerier interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// querier sends statements through database/sql.
type querier struct {
	on       stdQuerier
	insertID bool // whether the driver's results know LAST_INSERT_ID
}

func (q querier) Exec(ctx context.Context, statement string, args ...any) (sqlconn.Result, error) {
	result, err := q.on.ExecContext(ctx, statement, args...)
	if err != nil {
		return sqlconn.Result{}, err
	}
	var r sqlconn.Result
	if r.Rows, err = result.RowsAffected(); err == nil && q.insertID {
		r.InsertID, err = result.LastInsertId()
	}
	return r, err
}

func (q querier) Query(ctx context.Context, query string, args []any, row func(func(...any) error) error) error {
	rows, err := q.on.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := row(rows.Scan); err != nil {
			return err
		}
	}
	return errors.Join(rows.Close(), rows.Err())
}

// database is a *sql.DB.
type database struct {
	querier
	db *sql.DB
}

func (d Dialect) database(db *sql.DB) sqlconn.DB {
	return database{querier{db, d.insertID}, db}
}

func (d database) Begin(ctx context.Context, isolation sql.IsolationLevel) (sqlconn.Tx, error) {
	conn, err := d.db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	tx, err := conn.BeginTx(ctx, &sql.TxOptions{Isolation: isolation})
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return &transaction{querier{tx, d.insertID}, conn, tx}, nil
}

// transaction is a *sql.Tx. One that the caller began has no connection.
type transaction struct {
	querier
	conn *sql.Conn
	tx   *sql.Tx
}

func (t *transaction) Commit(ctx context.Context) error {
	err := t.tx.Commit()
	if err != nil && err != sql.ErrTxDone && t.conn != nil {
		// A commit that was refused as busy leaves the transaction open on SQLite; the connection goes back to the pool.
		_, _ = t.conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
	}
	return err
}

func (t *transaction) Rollback() error {
	err := t.tx.Rollback()
	if err == sql.ErrTxDone {
		err = nil
	}
	return errors.Join(err, t.conn.Close())
}
