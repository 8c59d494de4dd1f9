package sqlfence

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/fencerow/fencerow"
	"github.com/fencerow/fencerow/internal/turns"
)

// Gate fences transactions: each resource has a row in the table fencerow_gate that a fenced transaction passes first. It is
// safe for concurrent use.
type Gate struct {
	db      *sql.DB
	dialect Dialect
	stmt    gateStatements
	opts    Options
	claims  turns.Turns // by grant
}

type gateStatements struct{ look, claim, admit, state, share string }

// OpenGate returns the gate of a database, and creates its table if it is not there. The protected tables must be in the same
// database. The caller keeps and closes db.
func OpenGate(ctx context.Context, db *sql.DB, dialect Dialect, opts *Options) (*Gate, error) {
	if dialect.name == "" {
		return nil, errors.New("sqlfence: no dialect was given, use sqlfence.Postgres or sqlfence.SQLite")
	}
	probe := dialect.statement("gate_probe")
	if _, err := db.ExecContext(ctx, probe); err != nil {
		_, createErr := db.ExecContext(ctx, GateSchema(dialect)) // may fail only because another process creates it too
		if _, err := db.ExecContext(ctx, probe); err != nil {
			return nil, refused("open the gate: the table fencerow_gate is missing or of another shape; create it with GateSchema",
				errors.Join(err, createErr))
		}
	}
	return &Gate{
		db:      db,
		dialect: dialect,
		stmt: gateStatements{
			look:  dialect.statement("gate_look"),
			claim: dialect.statement("gate_claim"),
			admit: dialect.statement("gate_admit"),
			state: dialect.statement("gate_state"),
			share: dialect.statement("gate_share"),
		},
		opts: opts.resolve(),
	}, nil
}

// GateSchema returns the statement that creates the gate's table, for a schema that is kept elsewhere.
func GateSchema(dialect Dialect) string { return dialect.statement("gate_schema") }

// Claim raises the mark of a resource to the stamp's token. From then on no transaction of an older holder is admitted; those
// that have passed the gate are waited for. [Gate.Tx] and [Gate.Shared] claim by themselves; call Claim before a read that is
// made outside of them. The same grant may claim again, and does not wait for its own transactions then.
//
// The errors are [fencerow.ErrStale], [fencerow.ErrTokenReused], [fencerow.ErrMismatch], [fencerow.ErrNoToken],
// [fencerow.ErrConflict], [fencerow.ErrAmbiguous], or a failure of the database.
func (g *Gate) Claim(ctx context.Context, stamp fencerow.Stamp, resource fencerow.Resource) error {
	err := stamp.Check(resource)
	if err == nil {
		err = resolve(ctx, true, func() error { return g.claim(ctx, stamp) })
	}
	return stamp.Settle(ctx, g.opts.Observer, fencerow.Claim, err)
}

// claim raises the mark in a transaction of its own, so that it stands before anything is read.
//
// A grant that has claimed already must not claim again: the statement locks the gate, and would wait for the grant's own shared
// transactions. So it looks first, and its goroutines take turns.
func (g *Gate) claim(ctx context.Context, stamp fencerow.Stamp) error {
	what := "claim " + stamp.Token().String()
	token := stamp.Token()
	end, err := g.claims.Take(ctx, token.GrantID())
	if err != nil {
		return fmt.Errorf("sqlfence: %s: %w", what, err)
	}
	defer end()

	var m gateMark
	err = g.db.QueryRowContext(ctx, g.stmt.look, string(token.Resource())).Scan(m.dest()...)
	switch {
	case err == nil && m.isOf(token):
		return nil
	case err != nil && !errors.Is(err, sql.ErrNoRows):
		return pending(what, err)
	}
	err = g.db.QueryRowContext(ctx, g.stmt.claim, string(token.Resource()), token.Source(), token.Number(), token.GrantID()).Scan(m.dest()...)
	if err != nil {
		return answer(what, err)
	}
	if err := m.checkSource(token); err != nil {
		return err
	}
	return m.decideClaim(stamp)
}

// Tx runs fn in a transaction that only the newest holder can commit.
//
// It claims the resource if this grant has not done so, locks the resource's gate row, compares and records the stamp, calls
// fn and commits. All that fn writes through tx is applied at most once for the stamp. Transactions of one resource run one
// after the other, in the order of their steps; use [Gate.Shared] for work side by side.
//
// fn is called again, in a new transaction and with the same stamp, after a conflict or if the answer to the commit was lost;
// so it should do nothing but use tx. If fn returns an error the transaction is rolled back and the error returned.
//
// A nil error means committed. Otherwise nothing was written, unless the error is [fencerow.ErrAmbiguous], and the error is
// fn's or one of [fencerow.ErrStale], [fencerow.ErrDuplicate], [fencerow.ErrOutOfOrder], [fencerow.ErrTokenReused],
// [fencerow.ErrMismatch], [fencerow.ErrNoToken], [fencerow.ErrConflict], or a failure of the database.
func (g *Gate) Tx(ctx context.Context, stamp fencerow.Stamp, resource fencerow.Resource, fn func(context.Context, *Tx) error) error {
	err := stamp.Check(resource)
	if err == nil {
		err = resolve(ctx, true, func() error { return g.run(ctx, stamp, g.admit, fn) })
	}
	return stamp.Settle(ctx, g.opts.Observer, fencerow.Write, err)
}

// Shared runs fn in a transaction during which no newer holder can claim. Transactions of one holder run side by side. The
// step of the stamp is not recorded: if the answer to the commit is lost, the error is [fencerow.ErrAmbiguous], and sending it
// again may apply it twice. It suits reads, and writes that may be repeated. Other errors are those of [Gate.Tx], without those
// about steps.
func (g *Gate) Shared(ctx context.Context, stamp fencerow.Stamp, resource fencerow.Resource, fn func(context.Context, *Tx) error) error {
	err := stamp.Check(resource)
	if err == nil {
		err = resolve(ctx, false, func() error { return g.run(ctx, stamp, g.share, fn) })
	}
	return stamp.Settle(ctx, g.opts.Observer, fencerow.Read, err)
}

// Admit passes the gate within your own transaction, as [Gate.Tx] does, and returns the transaction as one that has passed.
// It must be your transaction's first statement; commit only if everything after it succeeded. If this grant has not claimed
// the resource the error is [fencerow.ErrUnclaimed]: roll back and call [Gate.Claim].
func (g *Gate) Admit(ctx context.Context, tx *sql.Tx, stamp fencerow.Stamp, resource fencerow.Resource) (*Tx, error) {
	err := stamp.Check(resource)
	if err == nil {
		err = g.admit(ctx, tx, stamp)
	}
	if err = stamp.Settle(ctx, g.opts.Observer, fencerow.Write, err); err != nil {
		return nil, err
	}
	return &Tx{tx: tx, stamp: stamp}, nil
}

type pass func(context.Context, *sql.Tx, fencerow.Stamp) error

// run is one attempt at a fenced transaction. The claim, where it is missing, is made and committed before.
func (g *Gate) run(ctx context.Context, stamp fencerow.Stamp, through pass, fn func(context.Context, *Tx) error) error {
	what := "transaction " + stamp.String()
	attempt := func() error {
		return inOwnTx(ctx, g.db, &sql.TxOptions{Isolation: g.opts.Isolation}, what, func(tx *sql.Tx) error {
			if err := through(ctx, tx, stamp); err != nil {
				return err
			}
			return ofCaller(what, fn(ctx, &Tx{tx: tx, stamp: stamp}))
		})
	}
	err := attempt()
	if !errors.Is(err, fencerow.ErrUnclaimed) {
		return err
	}
	// The claim is committed before anything is read.
	if err := resolve(ctx, true, func() error { return g.claim(ctx, stamp) }); err != nil {
		return err // told to the observer as the answer to the whole
	}
	_ = stamp.Settle(ctx, g.opts.Observer, fencerow.Claim, nil)
	return attempt()
}

// ofCaller keeps an error of fn apart from the gate's own answers, except a conflict in the database, which is tried again.
func ofCaller(what string, err error) error {
	if err == nil || errors.Is(err, fencerow.ErrConflict) {
		return err
	}
	if fencerow.VerdictOf(err) == fencerow.Failed {
		if conflict := pending(what, err); errors.Is(conflict, fencerow.ErrConflict) {
			return conflict
		}
	}
	return &callerError{err}
}

// admit locks the gate, compares and records the stamp.
func (g *Gate) admit(ctx context.Context, tx *sql.Tx, stamp fencerow.Stamp) error {
	what := "pass the gate of " + stamp.String()
	token := stamp.Token()
	// The second round is for a gate that changed between the two statements of the first; it is locked by then.
	for range 2 {
		rows, err := exec(ctx, tx, statement{g.stmt.admit, []any{
			string(token.Resource()), token.Source(), token.Number(), token.GrantID(), stamp.Step(),
		}})
		if err != nil {
			return pending(what, err)
		}
		if rows == 1 {
			return nil
		}
		m, err := g.read(ctx, tx, g.stmt.state, token)
		if err != nil {
			return pending(what, err)
		}
		if err := m.refusal(stamp); err != nil {
			return err
		}
	}
	return fmt.Errorf("%w: %s: a trigger or policy of fencerow_gate keeps the stamp from being recorded", fencerow.ErrRejected, what)
}

// share locks the gate against a claim and compares the grant.
func (g *Gate) share(ctx context.Context, tx *sql.Tx, stamp fencerow.Stamp) error {
	m, err := g.read(ctx, tx, g.stmt.share, stamp.Token())
	if err != nil {
		return pending("pass the gate of "+stamp.String(), err)
	}
	err = m.refusal(stamp)
	switch fencerow.VerdictOf(err) {
	case fencerow.Duplicate, fencerow.OutOfOrder:
		return nil // steps do not matter
	}
	return err
}

// read returns the gate's mark; that of a resource without one is 0.
func (g *Gate) read(ctx context.Context, tx *sql.Tx, query string, token fencerow.Token) (gateMark, error) {
	var m gateMark
	err := tx.QueryRowContext(ctx, query, string(token.Resource())).Scan(m.dest()...)
	if errors.Is(err, sql.ErrNoRows) {
		m.source = token.Source()
		m.number.Valid, m.step.Valid, m.grant.Valid = true, true, true
		return m, nil
	}
	return m, err
}

// gateMark is a mark that also knows the token sequence that the resource follows.
type gateMark struct {
	mark
	source string
}

func (m *gateMark) dest() []any { return []any{&m.source, &m.number, &m.step, &m.grant} }

// isOf reports whether the grant has claimed.
func (m gateMark) isOf(token fencerow.Token) bool {
	return m.source == token.Source() && m.number.Int64 == token.Number() && m.grant.String == token.GrantID()
}

func (m gateMark) checkSource(token fencerow.Token) error {
	if m.source != token.Source() {
		return fmt.Errorf("%w: %s follows the source %s, the token is of %s; two lock services must not serve one resource",
			fencerow.ErrMismatch, token.Resource(), m.source, token.Source())
	}
	return nil
}

func (m gateMark) refusal(stamp fencerow.Stamp) error {
	if err := m.checkSource(stamp.Token()); err != nil {
		return err
	}
	return m.decide(claimedMode, stamp)
}
