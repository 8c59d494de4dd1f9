package fence

import (
	"errors"
	"fmt"
	"strings"
)

// Override is an operator's decision to set a mark by hand: to lower one that a poisoned number has raised so far that no real
// grant gets above it, or to raise one. It is recorded beside the mark, with both marks and the time.
//
// To lower a mark lets superseded holders in again: stop them first.
type Override struct {
	Number int64  // the new mark; only greater numbers are granted from then on
	Source string // the source that the resource follows from then on, "" to leave it
	By     string // who decided
	Why    string
}

// OverrideGrant is the grant id of a mark that was set by hand. No grant has it, so that the number itself is not admitted.
const OverrideGrant = "override"

// Check returns what is missing.
func (o Override) Check() error {
	var errs []error
	if o.Number < 0 {
		errs = append(errs, fmt.Errorf("the number is %d, it must not be negative", o.Number))
	}
	if strings.TrimSpace(o.By) == "" || strings.TrimSpace(o.Why) == "" {
		errs = append(errs, errors.New("say who decided (By) and why (Why); both are recorded"))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("fence: override: %w", err)
	}
	return nil
}

// Replace returns the mark after the override of m.
func (o Override) Replace(m Mark) Mark {
	if o.Source != "" {
		m.Source = o.Source
	}
	m.Number, m.Step, m.GrantID = o.Number, 0, OverrideGrant
	return m
}
