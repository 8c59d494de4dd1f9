package sqlfence

import (
	"database/sql"
	"fmt"

	"github.com/fencerow/fencerow"
	"github.com/fencerow/fencerow/fence"
)

// storedMark is what the columns of a row or gate hold, read under its lock. Any of them may be NULL.
type storedMark struct {
	source, grant sql.NullString
	number, step  sql.NullInt64
}

// mark returns the mark, or ErrUnfenced if there is none to compare with.
func (m storedMark) mark(resource fencerow.Resource) (fence.Mark, error) {
	if !m.number.Valid || !m.step.Valid || !m.grant.Valid {
		return fence.Mark{}, fmt.Errorf("%w: the fence of %s is NULL; fill it with 0, then make the column NOT NULL", fencerow.ErrUnfenced, resource)
	}
	return fence.Mark{Source: m.source.String, Number: m.number.Int64, Step: m.step.Int64, GrantID: m.grant.String}, nil
}

// refuses returns why a row refuses a write, or nil.
func (m storedMark) refuses(rule fence.Rule, stamp fencerow.Stamp) error {
	mark, err := m.mark(stamp.Token().Resource())
	if err != nil {
		return err
	}
	return mark.Write(rule, stamp)
}

// refusesClaim returns why a row refuses a claim, or nil.
func (m storedMark) refusesClaim(stamp fencerow.Stamp, maxJump int64) error {
	mark, err := m.mark(stamp.Token().Resource())
	if err != nil {
		return err
	}
	return mark.Claim(stamp, maxJump)
}
