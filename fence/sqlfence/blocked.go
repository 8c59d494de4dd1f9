package sqlfence

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/fencerow/fencerow"
	"github.com/fencerow/fencerow/fence"
	"github.com/fencerow/fencerow/sqlconn"
)

// BlockedError says that a claim has waited for Options.ClaimTimeout behind somebody's transaction: an older holder that was frozen
// within one, or that works for long. The claim may be repeated; it is an ErrConflict. To get on, end the sessions that are named,
// or set Options.EndBlockers.
type BlockedError struct {
	Resource fencerow.Resource
	Waited   time.Duration
	Blockers []Blocker // empty where the database does not tell, such as SQLite, or to this user
	Err      error     // how the wait ended
}

// Blocker is a session whose transaction kept a claim from going on.
type Blocker struct {
	Session     int64 // the process id on Postgres, the connection id on MySQL
	User        string
	Application string        // as the client names itself, on Postgres
	Client      string        // its address
	State       string        // such as "idle in transaction"
	Open        time.Duration // of its transaction, in whole seconds
	Statement   string        // the latest, at most 200 characters
}

// Error names the blockers and what to do.
func (e *BlockedError) Error() string {
	who := "by somebody's transaction"
	var named []string
	for _, b := range e.Blockers {
		named = append(named, b.String())
	}
	if named != nil {
		who = "by " + strings.Join(named, "; ")
	}
	return fmt.Sprintf("fencerow: the claim of %s was blocked for %v %s; end that session, or set EndBlockers", e.Resource, e.Waited.Round(time.Millisecond), who)
}

// String describes the session in one line.
func (b Blocker) String() string {
	return fmt.Sprintf("session %d (user %q, application %q, client %s, %s, transaction open for %v, statement %q)",
		b.Session, b.User, b.Application, b.Client, b.State, b.Open, b.Statement)
}

// Is makes errors.Is(err, fencerow.ErrConflict) true.
func (e *BlockedError) Is(target error) bool { return target == fencerow.ErrConflict }

// Unwrap returns how the wait ended.
func (e *BlockedError) Unwrap() error { return e.Err }

// claiming makes claims whose wait is bounded.
type claiming struct {
	db      sqlconn.DB
	dialect Dialect
	timeout time.Duration
	end     bool
}

// run makes one claim, which attempt sends. For half of the time it is one statement. If that is not enough somebody holds a lock, and
// the other half is spent in a transaction whose session is known, so that the database can be asked who that is. A claim that was
// given up may still be made by the database; that does no harm, because it may be repeated.
func (c claiming) run(ctx context.Context, resource fencerow.Resource, what string, attempt func(context.Context, sqlconn.Querier) error) error {
	begin := time.Now()
	limit := c.timeout
	if c.dialect.sessions {
		limit /= 2
	}
	first, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err := fence.Resolve(first, true, func() error { return attempt(first, c.db) })
	if err == nil || first.Err() == nil || ctx.Err() != nil || isDefinite(err) {
		return err
	}
	blocked := &BlockedError{Resource: resource, Err: err}
	if c.dialect.sessions {
		err = fence.Resolve(ctx, true, func() error { return c.insist(ctx, what, blocked, attempt) })
		if err == nil || ctx.Err() != nil || isDefinite(err) {
			return err
		}
		blocked.Err = err
	}
	blocked.Waited = time.Since(begin)
	return blocked
}

// isDefinite reports whether an answer is not about the wait.
func isDefinite(err error) bool {
	switch fencerow.VerdictOf(err) {
	case fencerow.Conflict, fencerow.Ambiguous:
		return false
	}
	return !errors.Is(err, context.DeadlineExceeded)
}

// insist is one attempt in a transaction of its own. Meanwhile it finds out who blocks it.
func (c claiming) insist(ctx context.Context, what string, blocked *BlockedError, attempt func(context.Context, sqlconn.Querier) error) error {
	limit := c.timeout / 2
	// The server's own limit should end the wait, this one is for a server that does not answer.
	ctx, cancel := context.WithTimeout(ctx, limit+limit/2)
	defer cancel()
	var waited bool
	err := inOwnTx(ctx, c.db, sql.LevelReadCommitted, what, func(tx sqlconn.Tx) error {
		session, restore, err := c.limit(ctx, tx, limit)
		if err != nil {
			return pending(what, err)
		}
		watch, stop := context.WithCancel(ctx)
		watched := make(chan struct{})
		go func() {
			defer close(watched)
			if pause(watch, limit/2) {
				blocked.Blockers = c.blockers(watch, session)
			}
		}()
		err = attempt(ctx, tx)
		stop()
		<-watched
		waited = err != nil && !isDefinite(err)
		if restoreErr := restore(); err == nil {
			err = restoreErr
		}
		return err
	})
	if waited {
		return fence.OfCaller(err) // the time is over
	}
	return err
}

// limit bounds the waits of the transaction, and returns its session and how to lift the limit where it outlives the transaction.
func (c claiming) limit(ctx context.Context, tx sqlconn.Tx, limit time.Duration) (session int64, restore func() error, err error) {
	n := c.dialect.named("block_limit")
	if !c.dialect.insertID {
		var set string
		err := one(ctx, tx, n.text, n.args(values{"limit": strconv.FormatInt(limit.Milliseconds(), 10) + "ms"}), &session, &set)
		return session, func() error { return nil }, err
	}
	var before int64
	if err := one(ctx, tx, n.text, nil, &session, &before); err != nil {
		return 0, nil, err
	}
	set := func(seconds int64) error {
		_, err := tx.Exec(ctx, "SET SESSION innodb_lock_wait_timeout = "+strconv.FormatInt(seconds, 10))
		return err
	}
	return session, func() error { return set(before) }, set(max(1, int64(limit/time.Second)))
}

// blockers asks another session who keeps this one from going on, and ends them if that is wanted. It returns nothing if nobody
// does any more, or if this user may not know.
func (c claiming) blockers(ctx context.Context, session int64) []Blocker {
	var found []Blocker
	for _, name := range []string{"blockers", "blockers_mysql8"} {
		n := c.dialect.named(name)
		if n.text == "" {
			continue
		}
		found = nil
		var b Blocker
		var seconds int64
		dest := []any{&b.Session, &b.User, &b.Application, &b.Client, &b.State, &seconds, &b.Statement}
		err := eachRow(ctx, c.db, n.text, n.args(values{"session": session}), dest, func() {
			b.Open = time.Duration(seconds) * time.Second
			found = append(found, b)
		})
		if err == nil {
			break
		}
	}
	if c.end {
		for _, b := range found {
			_ = c.terminate(ctx, b.Session) // one that may not be ended shows by the claim
		}
	}
	return found
}

func (c claiming) terminate(ctx context.Context, session int64) error {
	if c.dialect.insertID {
		_, err := c.db.Exec(ctx, "KILL "+strconv.FormatInt(session, 10)) // takes no placeholder
		return err
	}
	n := c.dialect.named("block_end")
	var ended bool
	return one(ctx, c.db, n.text, n.args(values{"session": session}), &ended)
}

// pause waits; it returns false if ctx ends first.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
