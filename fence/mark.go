package fence

import (
	"fmt"

	"github.com/fencerow/fencerow"
)

// Mark is what a resource has stored of the newest grant that it has accepted. The zero Mark is that of a resource that has seen
// none. It never goes down, and is never deleted.
type Mark struct {
	Source  string // "" where the resource stores no source, or has none yet
	Number  int64
	Step    int64  // of the grant's latest write, 0 after its claim
	GrantID string // "" where the resource stores no grant
}

// Rule is which stamps a mark admits.
type Rule int

// The rules, from the weakest to the strongest. What a resource stores decides which one it can keep.
const (
	// NotOlder admits any number of writes of a grant: stored <= presented. One that is sent twice is applied twice.
	NotOlder Rule = iota + 1
	// Strict admits one write of each grant: stored < presented.
	Strict
	// Stepped admits each stamp once: (stored, step) < (presented, step).
	Stepped
	// Claimed admits each stamp once, of the one grant that has claimed: stored = presented, same grant, step < step.
	Claimed
)

// ClaimOf returns the mark that an accepted claim leaves behind.
func ClaimOf(token fencerow.Token) Mark {
	return Mark{Source: token.Source(), Number: token.Number(), GrantID: token.GrantID()}
}

// WriteOf returns the mark that an accepted write leaves behind.
func WriteOf(stamp fencerow.Stamp) Mark {
	m := ClaimOf(stamp.Token())
	m.Step = stamp.Step()
	return m
}

// Write returns why the mark refuses a write, or nil if it admits it. The error is [fencerow.ErrStale], [fencerow.ErrDuplicate],
// [fencerow.ErrOutOfOrder], [fencerow.ErrUnclaimed], [fencerow.ErrTokenReused] or [fencerow.ErrMismatch].
func (m Mark) Write(rule Rule, stamp fencerow.Stamp) error {
	token := stamp.Token()
	if err := m.follows(token); err != nil {
		return err
	}
	switch {
	case m.Number > token.Number():
		return &fencerow.StaleError{Resource: token.Resource(), Presented: token.Number(), Stored: m.Number}
	case m.Number < token.Number() && rule == Claimed:
		return fmt.Errorf("%w: %s stores %d, the grant is %d; claim, read again, then write",
			fencerow.ErrUnclaimed, token.Resource(), m.Number, token.Number())
	case m.Number < token.Number(), rule == NotOlder:
		return nil
	case rule == Strict:
		return fmt.Errorf("%w: grant %d has already written %s; without a stored step a grant writes once",
			fencerow.ErrDuplicate, token.Number(), token.Resource())
	case rule == Claimed && m.GrantID != token.GrantID():
		return fmt.Errorf("%w: number %d of %s belongs to the grant %s, not to %s; seed the lock service above it",
			fencerow.ErrTokenReused, token.Number(), token.Resource(), m.GrantID, token.GrantID())
	case m.Step == stamp.Step():
		return fmt.Errorf("%w: %s", fencerow.ErrDuplicate, stamp)
	case m.Step > stamp.Step():
		return fmt.Errorf("%w: %s comes after step %d", fencerow.ErrOutOfOrder, stamp, m.Step)
	}
	return nil
}

// Claim returns why the mark refuses a claim, or nil if the grant may claim or has claimed: the claim is strict. A claim has no
// step, so that the stamp of the write that follows serves for it.
//
// A number that is more than maxJump above a mark that is not 0 is refused with [fencerow.ErrImplausible], unless maxJump is 0.
// Other errors are [fencerow.ErrStale], [fencerow.ErrTokenReused] and [fencerow.ErrMismatch].
func (m Mark) Claim(stamp fencerow.Stamp, maxJump int64) error {
	err := m.Write(Claimed, stamp)
	switch fencerow.VerdictOf(err) {
	case fencerow.Unclaimed:
		return m.jump(stamp.Token(), maxJump)
	case fencerow.Duplicate, fencerow.OutOfOrder:
		return nil
	}
	return err
}

// Holds reports whether the mark is that of the token's claim, or of a write after it.
func (m Mark) Holds(token fencerow.Token) bool {
	return m.Source == token.Source() && m.Number == token.Number() && m.GrantID == token.GrantID()
}

func (m Mark) follows(token fencerow.Token) error {
	if m.Source != "" && m.Source != token.Source() {
		return fmt.Errorf("%w: %s follows the source %s, the token is of %s; two lock services must not serve one resource",
			fencerow.ErrMismatch, token.Resource(), m.Source, token.Source())
	}
	return nil
}

func (m Mark) jump(token fencerow.Token, maxJump int64) error {
	// The difference of two numbers that are not negative does not overflow.
	if jump := token.Number() - m.Number; maxJump > 0 && m.Number > 0 && jump > maxJump {
		return fmt.Errorf("%w: %s stores %d, the grant is %d, which is %d above it, and %d are allowed; if the number is right, raise the mark by hand",
			fencerow.ErrImplausible, token.Resource(), m.Number, token.Number(), jump, maxJump)
	}
	return nil
}
