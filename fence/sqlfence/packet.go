package sqlfence

import (
	"fmt"

	"github.com/fencerow/fencerow"
	"github.com/fencerow/fencerow/sqlconn"
)

// MySQL has no RETURNING. What a row answers to a fenced statement travels in the OK packet instead, as the statement's
// LAST_INSERT_ID, so that the exact verdict takes one round trip and does not depend on which rows the connection counts.
const (
	packetNothing    = 0 // no row was looked at
	packetAdmitted   = 1 // by the fence; if nothing follows, the caller's own condition did not hold
	packetWritten    = 2
	packetOther      = 3 // to be looked up
	packetDuplicate  = 4
	packetOutOfOrder = 5
	// below 0: stale, and the stored number with its sign changed
)

// packetAnswer returns the answer in a result, if it is all there is to know.
func packetAnswer(r sqlconn.Result, stamp fencerow.Stamp) (err error, known bool) {
	token := stamp.Token()
	if r.InsertID < 0 {
		return &fencerow.StaleError{Resource: token.Resource(), Presented: token.Number(), Stored: -r.InsertID}, true
	}
	switch r.InsertID {
	case packetWritten:
		return nil, true
	case packetAdmitted:
		return fmt.Errorf("%w: write to %s", fencerow.ErrRejected, token.Resource()), true
	case packetDuplicate:
		return fmt.Errorf("%w: %s", fencerow.ErrDuplicate, stamp), true
	case packetOutOfOrder:
		return fmt.Errorf("%w: %s", fencerow.ErrOutOfOrder, stamp), true
	}
	return nil, false
}
