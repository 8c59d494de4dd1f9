package sqlfence

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/fencerow/fencerow"
	"github.com/fencerow/fencerow/sqlconn"
)

// claim is one claim of a row, ready to be sent any number of times.
type claim struct {
	table *Table
	stamp fencerow.Stamp
	key   Key
	call  call
	dest  []any
}

func (t *Table) newClaim(stamp fencerow.Stamp, key Key, into Into) *claim {
	c := &claim{table: t, stamp: stamp, key: key, dest: []any{new(int64)}}
	columns := slices.Sorted(maps.Keys(into))
	for _, name := range columns {
		c.dest = append(c.dest, into[name])
	}
	c.call = call{stamp: stamp, key: key, columns: columns}
	return c
}

func (c *claim) what() string {
	return fmt.Sprintf("claim %s of %s", c.stamp.Token().Resource(), c.table.schema.Name)
}

func (c *claim) send(ctx context.Context) error {
	if c.table.tx != nil {
		return c.inTx(ctx, c.table.tx)
	}
	claiming := c.table.opts.claiming(c.table.db, c.table.dialect)
	return claiming.run(ctx, c.stamp.Token().Resource(), c.what(), func(ctx context.Context, on sqlconn.Querier) error {
		if db, ok := on.(sqlconn.DB); ok {
			return c.alone(ctx, db)
		}
		return c.inTx(ctx, on)
	})
}

// alone sends the claim as a statement of its own. Only if it was not accepted is a transaction needed, to say why.
func (c *claim) alone(ctx context.Context, db sqlconn.DB) error {
	accepted, refusal, err := c.attempt(ctx, db)
	switch {
	case err != nil && !accepted:
		return answer(c.what(), err)
	case accepted:
		return err
	case refusal != nil:
		return refusal
	}
	return inOwnTx(ctx, db, c.table.dialect.rowIsolation(), c.what(), func(tx sqlconn.Tx) error { return c.inTx(ctx, tx) })
}

func (c *claim) inTx(ctx context.Context, tx sqlconn.Querier) error {
	// The second round is for a row that changed between the two statements of the first; it is locked by then.
	for range 2 {
		accepted, refusal, err := c.attempt(ctx, tx)
		switch {
		case err != nil && !accepted:
			return pending(c.what(), err)
		case accepted:
			return err
		case refusal != nil:
			return refusal
		}
		marks, err := c.table.readMarks(ctx, tx, c.stamp, c.key)
		switch {
		case err != nil:
			return pending(c.what(), err)
		case len(marks) == 0:
			w := write{table: c.table, verb: "claim", stamp: c.stamp, key: c.key}
			return w.missing(ctx, tx)
		}
		if err := marks[0].refusesClaim(c.stamp, c.table.opts.MaxJump); err != nil {
			return err
		}
		if token := c.stamp.Token(); c.table.dialect.insertID && marks[0].number.Int64 == token.Number() {
			_, err := c.readClaimed(ctx, tx) // it has claimed before, and nothing was to change
			return err
		}
	}
	return fmt.Errorf("%w: %s: a trigger or policy of the table keeps the claim from being written", fencerow.ErrRejected, c.what())
}

// attempt sends the claim. An error beside accepted is about the returned row only: the mark is raised. A refusal is one that needs no
// second look.
func (c *claim) attempt(ctx context.Context, on sqlconn.Querier) (accepted bool, refusal, err error) {
	s, err := c.table.rowStatement("claim", c.call)
	if err != nil {
		return false, nil, err
	}
	if c.table.dialect.insertID {
		return c.attemptByPacket(ctx, on, s)
	}
	var unread error
	err = on.Query(ctx, s.text, s.args, func(scan func(...any) error) error {
		accepted = true
		unread = c.unread(scan(c.dest...))
		return nil
	})
	if err != nil { // rows that were sent do not stand before the statement has ended well
		return false, nil, err
	}
	return accepted, nil, unread
}

// attemptByPacket raises the mark, and reads the row after that: what it reads then stays true, because no older holder's write is
// accepted any more.
func (c *claim) attemptByPacket(ctx context.Context, on sqlconn.Querier, s statement) (accepted bool, refusal, err error) {
	result, err := on.Exec(ctx, s.text, s.args...)
	if err != nil {
		return false, nil, err
	}
	if result.InsertID != packetWritten && result.Rows == 0 {
		refusal, _ := packetAnswer(result, c.stamp)
		if !errors.Is(refusal, fencerow.ErrStale) {
			refusal = nil // to be looked up
		}
		return false, refusal, nil
	}
	accepted, err = c.readClaimed(ctx, on)
	return accepted, nil, err
}

// readClaimed reads the row behind a claim that was accepted.
func (c *claim) readClaimed(ctx context.Context, on sqlconn.Querier) (accepted bool, err error) {
	if len(c.call.columns) == 0 {
		return true, nil
	}
	s, err := c.table.rowStatement("claimed", c.call)
	if err != nil {
		return true, c.unread(err)
	}
	found := false
	err = on.Query(ctx, s.text, s.args, func(scan func(...any) error) error {
		found = true
		return scan(c.dest...)
	})
	if err == nil && !found {
		err = errors.New("it was deleted meanwhile")
	}
	return true, c.unread(err)
}

func (c *claim) unread(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("sqlfence: %s: the mark is raised, but the row could not be read: %w", c.what(), err)
}
