package sqlfence

import (
	"database/sql"
	"fmt"

	"github.com/fencerow/fencerow"
)

// mark is what a row or gate has stored, read under its lock.
type mark struct {
	number, step sql.NullInt64
	grant        sql.NullString
}

// decide returns why the mark refuses the stamp under a rule, or nil if it admits it.
func (m mark) decide(rule mode, stamp fencerow.Stamp) error {
	token := stamp.Token()
	switch {
	case !m.number.Valid || !m.step.Valid || !m.grant.Valid:
		return fmt.Errorf("%w: the fence of %s is NULL; fill it with 0, then make the column NOT NULL", fencerow.ErrUnfenced, token.Resource())
	case m.number.Int64 > token.Number():
		return &fencerow.StaleError{Resource: token.Resource(), Presented: token.Number(), Stored: m.number.Int64}
	case m.number.Int64 < token.Number():
		if rule == claimedMode {
			return fmt.Errorf("%w: %s stores %d, the grant is %d; claim, read again, then write",
				fencerow.ErrUnclaimed, token.Resource(), m.number.Int64, token.Number())
		}
		return nil
	case rule == notOlderMode:
		return nil
	case rule == strictMode:
		return fmt.Errorf("%w: grant %d has already written %s; without a step column a grant writes each row once",
			fencerow.ErrDuplicate, token.Number(), token.Resource())
	case rule == claimedMode && m.grant.String != token.GrantID():
		return m.reused(token)
	}
	return m.decideStep(stamp)
}

// decideStep judges a stamp whose number the mark already stores.
func (m mark) decideStep(stamp fencerow.Stamp) error {
	switch {
	case m.step.Int64 == stamp.Step():
		return fmt.Errorf("%w: %s", fencerow.ErrDuplicate, stamp)
	case m.step.Int64 > stamp.Step():
		return fmt.Errorf("%w: %s comes after step %d", fencerow.ErrOutOfOrder, stamp, m.step.Int64)
	}
	return nil
}

// decideClaim returns why the mark refuses a claim, or nil if the grant has claimed already or may.
func (m mark) decideClaim(stamp fencerow.Stamp) error {
	err := m.decide(claimedMode, stamp)
	switch fencerow.VerdictOf(err) {
	case fencerow.Unclaimed, fencerow.Duplicate, fencerow.OutOfOrder:
		return nil // a claim has no step
	}
	return err
}

func (m mark) reused(token fencerow.Token) error {
	return fmt.Errorf("%w: number %d of %s belongs to the grant %s, not to %s; seed the lock service above it",
		fencerow.ErrTokenReused, token.Number(), token.Resource(), m.grant.String, token.GrantID())
}
