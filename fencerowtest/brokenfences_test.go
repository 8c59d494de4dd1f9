package fencerowtest_test

import (
	"context"
	"testing"
	"time"

	"github.com/fencerow/fencerow/fencerowtest"
)

// The mistakes that can be planted in the fake fence.
const (
	checkThenWrite            = "check, then write"
	checkThenCommit           = "check, then commit"
	equalityNotOrder          = "equality instead of order"
	floatNumbers              = "numbers as floats"
	textNumbers               = "numbers as text"
	laxClaim                  = "lax claim"
	claimThatOnlyReads        = "no claim, it only reads"
	claimForgetsSteps         = "claim forgets the steps"
	lastClaimWins             = "last claim wins"
	writeClaims               = "write claims by itself"
	grantIsNotCompared        = "grant is not compared"
	sourceIsNotCompared       = "source is not compared"
	anyResource               = "token of any resource"
	zeroTokenAdmitted         = "zero token admitted"
	zeroRowsIsStale           = "zero rows is stale"
	nullIsZero                = "NULL is zero"
	removalForgetsTheMark     = "removal forgets the mark"
	retryAppliedTwice         = "retry applied twice"
	earlierStepAdmitted       = "earlier step admitted"
	ownWriteIsStale           = "own second write is stale"
	refusalWrites             = "refused write raises the mark"
	failureIsNotRolledBack    = "failed transaction is not rolled back"
	failureUsesTheStamp       = "failed transaction uses the stamp up"
	appliedIsCalledCancelled  = "applied write is called cancelled"
	staleIsForgotten          = "stale answer does not reach the lease"
	deleteForgetsTheMark      = "delete forgets the mark"
	pairIsTwoWrites           = "two values are two writes"
	refusedClaimForgetsSteps  = "refused claim forgets the steps"
	anyJumpAdmitted           = "any jump admitted"
	claimReturnsAnOldValue    = "claim returns an old value"
	lostReplyIsRefused        = "lost reply is called refused"
	doubtIsCalledApplied      = "doubt is called applied"
	lateRequestsAreNotChecked = "late requests are not checked"
)

// form is a set of features that a fence may have.
type form struct {
	name     string
	features fencerowtest.Features
}

// The forms of a fence, from the strongest to the weakest.
var (
	claimed   = form{"claimed", fencerowtest.Features{Claims: true, Steps: true, Sources: true, Missing: true, MaxJump: 1 << 62}}
	stepped   = form{"stepped", fencerowtest.Features{Steps: true, Missing: true}}
	strict    = form{"strict", fencerowtest.Features{Missing: true}}
	rewriting = form{"rewriting", fencerowtest.Features{Rewrites: true, Missing: true}}
)

// plantedInFences says which case must find which mistake, in which form. Every case finds one, so that none is there for show.
var plantedInFences = []struct {
	mistake, found string
	form           form
}{
	{equalityNotOrder, "older-refused-after-write", claimed},
	{equalityNotOrder, "older-refused-after-write", stepped},
	{equalityNotOrder, "older-refused-after-write", strict},
	{equalityNotOrder, "older-refused-after-write", rewriting},
	{lastClaimWins, "older-refused-after-claim", claimed},
	{claimThatOnlyReads, "older-refused-after-claim", claimed},
	{claimThatOnlyReads, "no-update-is-lost", claimed},
	{checkThenCommit, "claim-waits-for-transactions", claimed},
	{laxClaim, "claim-is-strict", claimed},
	{grantIsNotCompared, "claim-is-strict", claimed},
	{retryAppliedTwice, "stamp-is-applied-once", claimed},
	{retryAppliedTwice, "stamp-is-applied-once", stepped},
	{zeroTokenAdmitted, "stamp-is-required", claimed},
	{zeroTokenAdmitted, "stamp-is-required", strict},
	{anyResource, "foreign-resource-refused", claimed},
	{anyResource, "foreign-resource-refused", strict},
	{sourceIsNotCompared, "foreign-source-refused", claimed},
	{writeClaims, "write-needs-claim", claimed},
	{claimForgetsSteps, "claim-may-be-repeated", claimed},
	{ownWriteIsStale, "grant-writes-many-times", claimed},
	{ownWriteIsStale, "grant-writes-once", strict},
	{earlierStepAdmitted, "steps-stay-in-order", claimed},
	{earlierStepAdmitted, "steps-stay-in-order", stepped},
	{refusalWrites, "refusal-leaves-no-trace", claimed},
	{refusalWrites, "refusal-leaves-no-trace", strict},
	{failureIsNotRolledBack, "transaction-is-all-or-nothing", claimed},
	{failureUsesTheStamp, "transaction-is-all-or-nothing", claimed},
	{floatNumbers, "numbers-are-exact", claimed},
	{floatNumbers, "numbers-are-exact", strict},
	{textNumbers, "numbers-are-exact", claimed},
	{zeroRowsIsStale, "missing-is-not-stale", claimed},
	{zeroRowsIsStale, "missing-is-not-stale", strict},
	{nullIsZero, "null-is-unfenced", claimed},
	{nullIsZero, "null-is-unfenced", strict},
	{removalForgetsTheMark, "mark-survives-removal", claimed},
	{appliedIsCalledCancelled, "cancelled-context-is-no-false-answer", claimed},
	{appliedIsCalledCancelled, "cancelled-context-is-no-false-answer", strict},
	{appliedIsCalledCancelled, "cancelled-context-is-no-false-answer", rewriting},
	{retryAppliedTwice, "concurrent-holders", claimed},
	{equalityNotOrder, "newest-writer-stays", rewriting},
	{ownWriteIsStale, "newest-writer-stays", stepped},
	{claimThatOnlyReads, "racing-claims-leave-the-newest", claimed},
	{checkThenWrite, "racing-retries-are-applied-once", claimed},
	{checkThenWrite, "racing-retries-are-applied-once", stepped},
	{lastClaimWins, "frozen-before-the-claim", claimed},
	{claimReturnsAnOldValue, "thawed-before-the-claim", claimed},
	{laxClaim, "source-that-steps-back", claimed},
	{pairIsTwoWrites, "transfer-keeps-the-sum", claimed},
	{anyJumpAdmitted, "implausible-number-refused", claimed},
	{refusedClaimForgetsSteps, "implausible-number-refused", claimed},
	{refusedClaimForgetsSteps, "foreign-source-refused", claimed},
	{refusedClaimForgetsSteps, "refusal-leaves-no-trace", claimed},
	{deleteForgetsTheMark, "delete-keeps-the-mark", claimed},
	{deleteForgetsTheMark, "delete-keeps-the-mark", stepped},
	{lostReplyIsRefused, "lost-reply-is-no-refusal", claimed},
	{lostReplyIsRefused, "lost-reply-is-no-refusal", stepped},
	{doubtIsCalledApplied, "lost-reply-behind-a-newer-claim", claimed},
	{lateRequestsAreNotChecked, "late-write-changes-nothing", claimed},
	{lateRequestsAreNotChecked, "late-write-changes-nothing", strict},
	{lateRequestsAreNotChecked, "late-step-changes-nothing", claimed},
	{staleIsForgotten, "stale-cancels-the-lease", claimed},
	{staleIsForgotten, "stale-cancels-the-lease", strict},
}

func TestKitFindsNothingInTheCorrectFence(t *testing.T) {
	t.Parallel()
	for _, form := range []form{claimed, stepped, strict, rewriting} {
		t.Run(form.name, func(t *testing.T) {
			report := fencerowtest.CheckFence(t.Context(), fakeFenceHarness(form, ""))
			if len(report.Violations()) > 0 {
				t.Fatalf("the kit accuses a correct fence:\n%s", report)
			}
		})
	}
}

func TestKitFindsEachMistakeOfAFence(t *testing.T) {
	t.Parallel()
	finds := map[string]bool{}
	for _, planted := range plantedInFences {
		finds[planted.found] = true
		t.Run(planted.found+"/"+planted.mistake+"/"+planted.form.name, func(t *testing.T) {
			t.Parallel()
			mustFind(t, fencerowtest.CheckFence(t.Context(), fakeFenceHarness(planted.form, planted.mistake), planted.found))
		})
	}
	for _, c := range fencerowtest.FenceCases() {
		if !finds[c.Name] {
			t.Errorf("the case %s finds none of the planted mistakes", c.Name)
		}
	}
}

func fakeFenceHarness(form form, mistake string) fencerowtest.FenceHarness {
	f := newFakeFence(form.features, mistake)
	return fencerowtest.FenceHarness{
		Name:        "fake",
		Open:        func(context.Context) (fencerowtest.Fence, error) { return f, nil },
		NewResource: f.newResource,
		Features:    form.features,
		SetNull:     f.setNull,
		Remove:      f.remove,
		OpenWired:   f.openWired,
		Patience:    time.Second,
	}
}
