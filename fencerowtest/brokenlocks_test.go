package fencerowtest_test

import (
	"testing"
	"time"

	"github.com/fencerow/fencerow/fencerowtest"
)

// The mistakes that can be planted in the fake lock service.
const (
	counterResetOnRelease   = "counter reset on release"
	counterResetOnExpiry    = "counter reset on expiry"
	counterPerHandle        = "counter per handle"
	counterLostInRestart    = "counter lost in a restart"
	counterIsAFloat         = "counter is a float"
	numberBeforeLock        = "number is minted before the lock"
	newNumberOnRetry        = "repeated acquire is a new grant"
	cancelledAcquireIsKept  = "cancelled acquire is kept"
	releaseByName           = "release by name"
	releaseNeedsNumber      = "release needs the number"
	releaseOfOthersIsSilent = "release of another grant is silent"
	releaseWaitsForTTL      = "release waits for the TTL"
	closeReleases           = "close releases"
	renewByName             = "renewal by name"
	seedMissesWaiters       = "a waiter's number is minted when it comes"
	retiresWhatIsHeld       = "what is held can be retired"
	retiredIsGranted        = "what is retired is granted"
	seedChangesTheLease     = "a seed changes the number of the running lease"
	renewalKeepsAll         = "renewing one grant renews all of the handle"
	renewalTakesBack        = "renewal takes the lock back"
	renewalCreates          = "renewal creates"
	renewalChecksThenWrites = "renewal checks, then writes"
	renewalDoesNothing      = "renewal does nothing"
	refusedRenewalProlongs  = "refused renewal prolongs"
	batchStopsAtRefusal     = "batch stops at a refusal"
	batchOutOfOrder         = "batch is answered out of order"
	neverExpires            = "lease never ends"
	expiresEarly            = "lease ends early"
	anyTTL                  = "any TTL is accepted"
	ttlIsRounded            = "a TTL is rounded"
	ttlWraps                = "a long TTL wraps to a short one"
	boundsAreNotChecked     = "bounds of the TTL are not checked"
	namesFolded             = "names are compared without case"
	namesCut                = "names are cut"
	heldNamesNobody         = "refusal names nobody"
	sourcePerHandle         = "source per handle"
	seedLowers              = "seed lowers"
	inspectIgnoresExpiry    = "inspect ignores the end of a lease"
	queueIsAStack           = "last come, first served"
	waiterStaysInQueue      = "waiter stays in the queue"
	handOverIsLost          = "hand-over to a leaving waiter is lost"
	waiterIsForgotten       = "waiter is forgotten"
	waitIsNeverWoken        = "wait is never woken"
	waitIgnoresContext      = "wait ignores its context"
	goroutineOutlivesClose  = "goroutine outlives Close"
	closeHangs              = "close hangs"
	sessionOutlivesItsEnd   = "leases outlive the end of their session"
	waiterIgnoresItsSession = "waiter ignores the end of its session"
	renewalNeedsItsReply    = "a renewal is refused after one whose reply was lost"
	lostAcquireIsKept       = "what a lost acquire took is kept alive"
)

// plantedInLocks says which case must find which mistake. Every case finds one, so that none is there for show.
var plantedInLocks = []struct{ mistake, found string }{
	{counterResetOnRelease, "numbers-grow-across-release"},
	{counterResetOnExpiry, "numbers-grow-across-expiry"},
	{counterPerHandle, "numbers-grow-across-reopening"},
	{counterLostInRestart, "numbers-grow-across-restart"},
	{numberBeforeLock, "racing-acquirers-exclude"},
	{newNumberOnRetry, "repeated-acquire-is-the-same-grant"},
	{cancelledAcquireIsKept, "cancelled-acquire-leaves-nothing"},
	{releaseWaitsForTTL, "release-frees-at-once"},
	{releaseOfOthersIsSilent, "release-needs-the-grant"},
	{releaseByName, "release-needs-the-grant"},
	{releaseByName, "late-release-changes-nothing"},
	{releaseNeedsNumber, "release-by-grant-id-alone"},
	{closeReleases, "closing-ends-no-lease"},
	{renewalDoesNothing, "renewal-prolongs-the-grant"},
	{renewalCreates, "renewal-never-creates"},
	{renewalChecksThenWrites, "renewal-races-release"},
	{renewByName, "late-renewal-changes-nothing"},
	{refusedRenewalProlongs, "late-renewal-changes-nothing"},
	{neverExpires, "numbers-grow-across-expiry"},
	{neverExpires, "lease-lasts-its-ttl"},
	{expiresEarly, "lease-lasts-its-ttl"},
	{anyTTL, "ttl-is-checked"},
	{ttlIsRounded, "ttl-is-checked"},
	{ttlWraps, "ttl-is-checked"},
	{boundsAreNotChecked, "ttl-is-checked"},
	{namesFolded, "resources-are-independent"},
	{namesCut, "resources-are-independent"},
	{heldNamesNobody, "held-names-the-holder"},
	{sourcePerHandle, "source-is-one"},
	{batchStopsAtRefusal, "batch-renewal-answers-each"},
	{batchOutOfOrder, "batch-renewal-answers-each"},
	{renewalDoesNothing, "batch-renewal-answers-each"},
	{seedLowers, "seed-only-raises"},
	{counterIsAFloat, "seed-only-raises"},
	{seedChangesTheLease, "seed-only-raises"},
	{retiresWhatIsHeld, "retired-is-not-granted"},
	{retiredIsGranted, "retired-is-not-granted"},
	{seedMissesWaiters, "seed-reaches-waiters"},
	{renewalKeepsAll, "renewal-keeps-no-other"},
	{inspectIgnoresExpiry, "inspect-tells-the-truth"},
	{queueIsAStack, "queue-is-in-order"},
	{newNumberOnRetry, "repeated-waiter-is-the-same-grant"},
	{waiterStaysInQueue, "cancelled-waiter-leaves-the-queue"},
	{handOverIsLost, "cancel-races-hand-over"},
	{neverExpires, "waiter-follows-a-dead-holder"},
	{waitIsNeverWoken, "wait-is-woken-by-release"},
	{waitIgnoresContext, "wait-is-woken-by-release"},
	{waiterIsForgotten, "every-waiter-is-served"},
	{renewalDoesNothing, "locker-keeps-its-lease"},
	{expiresEarly, "locker-says-lost"},
	{releaseWaitsForTTL, "locker-releases-after-renewal"},
	{waiterStaysInQueue, "cancelled-wait-leaves-nothing"},
	{goroutineOutlivesClose, "close-leaves-no-goroutine"},
	{closeHangs, "close-leaves-no-goroutine"},
	{counterLostInRestart, "numbers-grow-across-failover"},
	{newNumberOnRetry, "lost-reply-of-an-acquire-is-resolved"},
	{lostAcquireIsKept, "lost-acquire-ends"},
	{releaseNeedsNumber, "lost-acquire-is-given-back"},
	{renewalNeedsItsReply, "lost-reply-of-a-renewal-is-no-loss"},
	{renewalTakesBack, "late-requests-change-nothing"},
	{releaseByName, "late-requests-change-nothing"},
	{waiterStaysInQueue, "lost-waiter-leaves-the-queue"},
	{sessionOutlivesItsEnd, "end-of-the-session-ends-the-lease"},
	{waiterIgnoresItsSession, "waiter-says-that-its-session-ended"},
	{waiterIsForgotten, "two-hundred-waiters-are-served"},
}

func TestKitFindsNothingInTheCorrectLockService(t *testing.T) {
	t.Parallel()
	report := fencerowtest.CheckLocks(t.Context(), fakeLocksHarness(t, ""))
	for _, result := range report.Results {
		if result.Outcome != fencerowtest.Kept {
			t.Errorf("%s: %s (%s)", result.Name, result.Outcome, result.Detail)
		}
	}
}

func TestKitFindsEachMistakeOfALockService(t *testing.T) {
	t.Parallel()
	finds := map[string]bool{}
	for _, planted := range plantedInLocks {
		finds[planted.found] = true
		t.Run(planted.found+"/"+planted.mistake, func(t *testing.T) {
			t.Parallel()
			h := fakeLocksHarness(t, planted.mistake)
			h.Patience = 150 * time.Millisecond // nothing comes late here but what never comes
			mustFind(t, fencerowtest.CheckLocks(t.Context(), h, planted.found))
		})
	}
	for _, c := range fencerowtest.LockCases() {
		if !finds[c.Name] {
			t.Errorf("the case %s finds none of the planted mistakes", c.Name)
		}
	}
}

// mustFind asserts that the one case that was run has found its mistake.
func mustFind(t *testing.T, report fencerowtest.Report) {
	t.Helper()
	found := report.Violations()
	if len(found) != 1 || found[0].Promise == "" {
		t.Fatalf("the case does not find it:\n%s", report)
	}
	t.Log(found[0].Detail)
}

func fakeLocksHarness(t *testing.T, mistake string) fencerowtest.LockHarness {
	server := newFakeServer(mistake)
	t.Cleanup(func() { close(server.ended) })
	return fencerowtest.LockHarness{
		Name:       "fake",
		Open:       server.open,
		OpenWired:  server.openWired,
		EndSession: server.endSession,
		Failover:   server.restart,
		TTL:        60 * time.Millisecond,
		Restart:    server.restart,
	}
}
