package fencerow

import "errors"

// Verdict is a resource's answer in one word, the same in logs, metrics and reports.
type Verdict string

// The verdicts. Only Applied has written something; only Ambiguous may have.
const (
	Applied        Verdict = "applied"
	Duplicate      Verdict = "duplicate"
	OutOfOrder     Verdict = "out_of_order"
	Stale          Verdict = "stale"
	Missing        Verdict = "missing"
	Rejected       Verdict = "rejected"
	Unclaimed      Verdict = "unclaimed"
	Conflict       Verdict = "conflict"
	Ambiguous      Verdict = "ambiguous"
	Unfenced       Verdict = "unfenced"
	TokenReused    Verdict = "token_reused"
	SourceMismatch Verdict = "source_mismatch"
	Implausible    Verdict = "implausible"
	Failed         Verdict = "failed"
)

// verdicts are in the order of doubt: an error that is both ambiguous and stale is ambiguous, because an earlier
// attempt may have been applied.
var verdicts = []struct {
	err     error
	verdict Verdict
}{
	{ErrAmbiguous, Ambiguous},
	{ErrStale, Stale},
	{ErrTokenReused, TokenReused},
	{ErrMismatch, SourceMismatch},
	{ErrImplausible, Implausible},
	{ErrNoToken, Unfenced},
	{ErrUnfenced, Unfenced},
	{ErrDuplicate, Duplicate},
	{ErrOutOfOrder, OutOfOrder},
	{ErrUnclaimed, Unclaimed},
	{ErrMissing, Missing},
	{ErrRejected, Rejected},
	{ErrConflict, Conflict},
}

// VerdictOf returns the verdict that err stands for: Applied for nil, and Failed for an error that is not a resource's
// answer, such as a syntax error or one of your own; nothing was written then either.
func VerdictOf(err error) Verdict {
	if err == nil {
		return Applied
	}
	for _, v := range verdicts {
		if errors.Is(err, v.err) {
			return v.verdict
		}
	}
	return Failed
}
