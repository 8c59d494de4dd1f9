package sqlfence

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/fencerow/fencerow"
	"github.com/fencerow/fencerow/fence"
	"github.com/fencerow/fencerow/internal/turns"
	"github.com/fencerow/fencerow/sqlconn"
)

// Gate fences transactions: each resource has a row in the table fencerow_gate that a fenced transaction passes first. It is
// safe for concurrent use.
type Gate struct {
	db      sqlconn.DB
	dialect Dialect
	stmt    gateStatements
	opts    Options
	claims  turns.Turns // by grant
}

// OpenGate returns the gate of a database, and creates its table if it is not there. The protected tables must be in the same
// database. The caller keeps and closes db.
func OpenGate(ctx context.Context, db *sql.DB, dialect Dialect, opts *Options) (*Gate, error) {
	return OpenGateOn(ctx, dialect.database(db), dialect, opts)
}

// OpenGateOn is OpenGate for a database that is reached in another way than by database/sql. It is for adapters such as
// fence/pgxfence.
func OpenGateOn(ctx context.Context, db sqlconn.DB, dialect Dialect, opts *Options) (*Gate, error) {
	if dialect.name == "" {
		return nil, errNoDialect
	}
	if err := openGate(ctx, db, dialect); err != nil {
		return nil, err
	}
	resolved := opts.resolve()
	return &Gate{db: db, dialect: dialect, stmt: dialect.gateStatements(resolved.TellTriggers), opts: resolved}, nil
}

// Claim raises the mark of a resource to the stamp's token. From then on no transaction of an older holder is admitted; those
// that have passed the gate are waited for, for Options.ClaimTimeout. [Gate.Tx], [Gate.TxAtCommit] and [Gate.Shared] claim by
// themselves; call Claim before a read that is made outside of them. The same grant may claim again, and does not wait for its own
// transactions then.
//
// The errors are [fencerow.ErrStale], [fencerow.ErrTokenReused], [fencerow.ErrMismatch], [fencerow.ErrNoToken],
// [fencerow.ErrImplausible], [fencerow.ErrConflict], of which [*BlockedError] names those who block it, [fencerow.ErrAmbiguous], or
// a failure of the database.
func (g *Gate) Claim(ctx context.Context, stamp fencerow.Stamp, resource fencerow.Resource) error {
	err := stamp.Check(resource)
	if err == nil {
		err = g.claim(ctx, stamp)
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
	return g.opts.claiming(g.db, g.dialect).run(ctx, token.Resource(), what, func(ctx context.Context, on sqlconn.Querier) error {
		m, err := g.stmt.read(ctx, on, g.stmt.look, token.Resource())
		if err != nil {
			return pending(what, err)
		}
		if m.Holds(token) {
			return nil
		}
		if m, err = g.raise(ctx, on, stamp); err != nil {
			return answer(what, err)
		}
		return m.Claim(stamp, g.opts.MaxJump)
	})
}

// raise raises the mark if the number is new, and returns what is stored then.
func (g *Gate) raise(ctx context.Context, on sqlconn.Querier, stamp fencerow.Stamp) (fence.Mark, error) {
	v, resource := stampValues(stamp), stamp.Token().Resource()
	v["jump"] = g.opts.jump()
	if !g.dialect.insertID {
		return g.stmt.query(ctx, on, g.stmt.claim, v, resource)
	}
	if _, err := on.Exec(ctx, g.stmt.claim.text, g.stmt.claim.args(v)...); err != nil {
		return fence.Mark{}, err
	}
	return g.stmt.read(ctx, on, g.stmt.look, resource)
}

// Tx runs fn in a transaction that only the newest holder can commit.
//
// It claims the resource if this grant has not done so, locks the resource's gate row, compares and records the stamp, calls
// fn and commits. All that fn writes through tx is applied at most once for the stamp. Transactions of one resource run one
// after the other, in the order of their steps; use [Gate.Shared] for work side by side.
//
// fn is called again, in a new transaction and with the same stamp, after a conflict or if the answer to the commit was lost;
// so it should do nothing but use tx. If fn returns an error the transaction is rolled back and the error returned. A newer holder's
// claim waits for a transaction that is under way; one whose process is frozen is reported by the claim, see [BlockedError].
//
// A nil error means committed. Otherwise nothing was written, unless the error is [fencerow.ErrAmbiguous], and the error is
// fn's or one of [fencerow.ErrStale], [fencerow.ErrDuplicate], [fencerow.ErrOutOfOrder], [fencerow.ErrTokenReused],
// [fencerow.ErrMismatch], [fencerow.ErrNoToken], [fencerow.ErrConflict], or a failure of the database.
func (g *Gate) Tx(ctx context.Context, stamp fencerow.Stamp, resource fencerow.Resource, fn func(context.Context, *Tx) error) error {
	return g.transact(ctx, stamp, resource, fencerow.Write, eager{g}, fn)
}

// TxAtCommit is [Gate.Tx] with the gate at the end: fn runs first, and then the stamp is compared and recorded, right before the
// commit. A newer holder's claim does not wait for fn, and an older holder that was frozen within fn blocks nobody at the gate; it is
// refused when it wakes and wants to commit. The rows that fn has written stay locked meanwhile, as in any transaction, and what fn
// reads may be what a newer holder has written. It suits long transactions; fn runs in vain if it is refused. On SQLite, where a
// transaction locks the whole database, there is no difference but the order.
func (g *Gate) TxAtCommit(ctx context.Context, stamp fencerow.Stamp, resource fencerow.Resource, fn func(context.Context, *Tx) error) error {
	return g.transact(ctx, stamp, resource, fencerow.Write, atCommit{g}, fn)
}

// Shared runs fn in a transaction during which no newer holder can claim. Transactions of one holder run side by side. The
// step of the stamp is not recorded: if the answer to the commit is lost, the error is [fencerow.ErrAmbiguous], and sending it
// again may apply it twice. It suits reads, and writes that may be repeated. Other errors are those of [Gate.Tx], without those
// about steps.
func (g *Gate) Shared(ctx context.Context, stamp fencerow.Stamp, resource fencerow.Resource, fn func(context.Context, *Tx) error) error {
	return g.transact(ctx, stamp, resource, fencerow.Read, shared{g}, fn)
}

// Admit passes the gate within your own transaction, as [Gate.Tx] does, and returns the transaction as one that has passed.
// It must be your transaction's first statement; commit only if everything after it succeeded. If this grant has not claimed
// the resource the error is [fencerow.ErrUnclaimed]: roll back and call [Gate.Claim]. On MySQL it waits for a transaction of an older
// holder before it says so: claim first.
func (g *Gate) Admit(ctx context.Context, tx *sql.Tx, stamp fencerow.Stamp, resource fencerow.Resource) (*Tx, error) {
	return g.AdmitOn(ctx, &transaction{querier: querier{tx, g.dialect.insertID}, tx: tx}, stamp, resource)
}

// AdmitOn is Admit for a transaction that is reached in another way than by database/sql. It is for adapters such as fence/pgxfence.
func (g *Gate) AdmitOn(ctx context.Context, tx sqlconn.Tx, stamp fencerow.Stamp, resource fencerow.Resource) (*Tx, error) {
	err := stamp.Check(resource)
	if err == nil {
		err = g.admit(ctx, tx, stamp)
	}
	if err = stamp.Settle(ctx, g.opts.Observer, fencerow.Write, err); err != nil {
		return nil, err
	}
	return &Tx{on: tx, stamp: stamp}, nil
}

// passage is when and how a transaction passes the gate.
type passage interface {
	before(context.Context, fencerow.Stamp) error            // the transaction
	enter(context.Context, sqlconn.Tx, fencerow.Stamp) error // before fn
	leave(context.Context, sqlconn.Tx, fencerow.Stamp) error // after it
	failed(context.Context, fencerow.Stamp, error) error     // what to answer if it fails
	recorded() bool                                          // whether the stamp is
}

type (
	eager    struct{ g *Gate }
	atCommit struct{ g *Gate }
	shared   struct{ g *Gate }
)

// before looks on MySQL whether the claim is there: its UPDATE locks a row before it compares it, and would wait for an older holder
// that is frozen. In the transaction a look would fix too early what that sees.
func (p eager) before(ctx context.Context, s fencerow.Stamp) error {
	if !p.g.dialect.insertID {
		return nil
	}
	m, err := p.g.stmt.read(ctx, p.g.db, p.g.stmt.look, s.Token().Resource())
	if err != nil {
		return pending("look at the gate of "+s.String(), err)
	}
	if err := m.Write(fence.Claimed, s); errors.Is(err, fencerow.ErrUnclaimed) {
		return err
	}
	return nil
}

func (p eager) enter(ctx context.Context, tx sqlconn.Tx, s fencerow.Stamp) error {
	return p.g.admit(ctx, tx, s)
}
func (p eager) leave(context.Context, sqlconn.Tx, fencerow.Stamp) error     { return nil }
func (p eager) failed(_ context.Context, _ fencerow.Stamp, err error) error { return err }
func (p eager) recorded() bool                                              { return true }

func (p atCommit) before(context.Context, fencerow.Stamp) error { return nil }

// enter only looks, so that a stamp which will be refused need not do the work.
func (p atCommit) enter(ctx context.Context, tx sqlconn.Tx, s fencerow.Stamp) error {
	m, err := p.g.stmt.read(ctx, tx, p.g.stmt.look, s.Token().Resource())
	if err != nil {
		return pending("look at the gate of "+s.String(), err)
	}
	return m.Write(fence.Claimed, s)
}
func (p atCommit) leave(ctx context.Context, tx sqlconn.Tx, s fencerow.Stamp) error {
	return p.g.admit(ctx, tx, s)
}

// failed looks whether a newer holder has claimed meanwhile: its writes may be why the work has failed.
func (p atCommit) failed(ctx context.Context, s fencerow.Stamp, err error) error {
	m, lookErr := p.g.stmt.read(ctx, p.g.db, p.g.stmt.look, s.Token().Resource())
	if lookErr != nil {
		return err
	}
	switch refusal := m.Write(fence.Claimed, s); fencerow.VerdictOf(refusal) {
	case fencerow.Stale, fencerow.TokenReused, fencerow.SourceMismatch:
		return fmt.Errorf("%w (the work had failed before: %v)", refusal, err)
	}
	return err
}
func (p atCommit) recorded() bool { return true }

func (p shared) before(context.Context, fencerow.Stamp) error { return nil }

func (p shared) enter(ctx context.Context, tx sqlconn.Tx, s fencerow.Stamp) error {
	return p.g.share(ctx, tx, s)
}
func (p shared) leave(context.Context, sqlconn.Tx, fencerow.Stamp) error     { return nil }
func (p shared) failed(_ context.Context, _ fencerow.Stamp, err error) error { return err }
func (p shared) recorded() bool                                              { return false }

func (g *Gate) transact(ctx context.Context, stamp fencerow.Stamp, resource fencerow.Resource, op fencerow.Operation, p passage, fn func(context.Context, *Tx) error) error {
	err := stamp.Check(resource)
	if err == nil {
		err = fence.Resolve(ctx, p.recorded(), func() error { return g.run(ctx, stamp, p, fn) })
	}
	return stamp.Settle(ctx, g.opts.Observer, op, err)
}

// run is one attempt at a fenced transaction. The claim, where it is missing, is made and committed before.
func (g *Gate) run(ctx context.Context, stamp fencerow.Stamp, p passage, fn func(context.Context, *Tx) error) error {
	what := "transaction " + stamp.String()
	attempt := func() error {
		if err := p.before(ctx, stamp); err != nil {
			return err
		}
		failed := false
		err := inOwnTx(ctx, g.db, g.opts.Isolation, what, func(tx sqlconn.Tx) error {
			if err := p.enter(ctx, tx, stamp); err != nil {
				return err
			}
			if err := ofCaller(what, fn(ctx, &Tx{on: tx, stamp: stamp})); err != nil {
				failed = true
				return err
			}
			return p.leave(ctx, tx, stamp)
		})
		if failed {
			err = p.failed(ctx, stamp, err) // its connection is free again
		}
		return err
	}
	err := attempt()
	if !errors.Is(err, fencerow.ErrUnclaimed) {
		return err
	}
	// The claim is committed before anything is read. It is told to the observer if it is accepted; else it is the answer to the whole.
	if err := g.claim(ctx, stamp); err != nil {
		if blocked := (*BlockedError)(nil); errors.As(err, &blocked) {
			return fence.OfCaller(err) // it has waited long enough
		}
		return err
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
	return fence.OfCaller(err)
}

// admit locks the gate, compares and records the stamp.
func (g *Gate) admit(ctx context.Context, tx sqlconn.Querier, stamp fencerow.Stamp) error {
	what := "pass the gate of " + stamp.String()
	resource := stamp.Token().Resource()
	// The second round is for a gate that changed between the statements of the first; it is locked by then.
	for range 2 {
		result, err := tx.Exec(ctx, g.stmt.admit.text, g.stmt.admit.args(stampValues(stamp))...)
		if err != nil {
			return pending(what, err)
		}
		if result.Rows == 1 {
			return nil
		}
		// A grant that has not claimed is told so without a lock: who holds it may be frozen, and the claim does not wait for ever.
		for _, query := range []named{g.stmt.look, g.stmt.state} {
			m, err := g.stmt.read(ctx, tx, query, resource)
			if err != nil {
				return pending(what, err)
			}
			err = m.Write(fence.Claimed, stamp)
			if errors.Is(err, fencerow.ErrUnclaimed) || err != nil && query.text == g.stmt.state.text {
				return err
			}
		}
		if g.dialect.insertID {
			// What was read has fixed what the transaction sees, before the lock was there.
			return fmt.Errorf("%w: %s: the gate has changed meanwhile", fencerow.ErrConflict, what)
		}
	}
	return fmt.Errorf("%w: %s: a trigger or policy of fencerow_gate keeps the stamp from being recorded", fencerow.ErrRejected, what)
}

// share locks the gate against a claim and compares the grant. It looks before it locks, as admit does; whoever has claimed by then
// misses nothing in a transaction that sees what was there when it looked.
func (g *Gate) share(ctx context.Context, tx sqlconn.Querier, stamp fencerow.Stamp) error {
	var err error
	for _, query := range []named{g.stmt.look, g.stmt.share} {
		m, readErr := g.stmt.read(ctx, tx, query, stamp.Token().Resource())
		if readErr != nil {
			return pending("pass the gate of "+stamp.String(), readErr)
		}
		if err = m.Write(fence.Claimed, stamp); errors.Is(err, fencerow.ErrUnclaimed) {
			return err
		}
	}
	switch fencerow.VerdictOf(err) {
	case fencerow.Duplicate, fencerow.OutOfOrder:
		return nil // steps do not matter
	}
	return err
}
