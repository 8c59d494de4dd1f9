package fencerowtest

// The cases that end the connections of all others.
const (
	restartCase  = "numbers-grow-across-restart"
	failoverCase = "numbers-grow-across-failover"
)

// lockCases are the promises of a lock service, the gravest first.
var lockCases = []lockCase{
	{Case{"numbers-grow-across-release", "A number is greater than all before it, also after a clean release and whoever holds next."}, numbersGrowAcrossRelease},
	{Case{"numbers-grow-across-expiry", "A number is greater than that of a holder whose lease ran out."}, numbersGrowAcrossExpiry},
	{Case{"numbers-grow-across-reopening", "Numbers go on where they were when the service is closed and opened again."}, numbersGrowAcrossReopening},
	{Case{restartCase, "Numbers go on where they were when the server is restarted, and what was held is still held or free."}, numbersGrowAcrossRestart},
	{Case{failoverCase, "Numbers go on where they were when another server takes over, also for what is granted meanwhile."}, numbersGrowAcrossFailover},
	{Case{"racing-acquirers-exclude", "Of contenders that race on several handles one at a time is granted, and numbers grow in the order of the grants."}, racingAcquirersExclude},
	{Case{"repeated-acquire-is-the-same-grant", "An acquire that is repeated because its reply was lost returns the same grant and number, with its whole TTL before it."}, repeatedAcquireIsTheSameGrant},
	{Case{"cancelled-acquire-leaves-nothing", "An acquire whose context has ended is no grant, and after its clean-up, or its TTL at the latest, the resource is free."}, cancelledAcquireLeavesNothing},
	{Case{"lost-reply-of-an-acquire-is-resolved", "An acquire whose reply was lost on the way is the same grant when it is sent once more."}, lostReplyOfAnAcquireIsResolved},
	{Case{"lost-acquire-is-given-back", "An acquire whose reply was lost on the way is undone by its grant id."}, lostAcquireIsGivenBack},
	{Case{"lost-reply-of-a-renewal-is-no-loss", "A renewal whose reply was lost on the way leaves the grant as it is for the next one."}, lostReplyOfARenewalIsNoLoss},
	{Case{"late-requests-change-nothing", "A renewal or release that arrives after a successor was granted changes nothing."}, lateRequestsChangeNothing},
	{Case{"late-acquire-ends", "An acquire that arrives after it was given up ends with its TTL, also while its handle works on."}, lateAcquireEnds},
	{Case{"end-of-the-session-ends-the-lease", "When the session of a handle has ended its grants are not current, the next holder is granted, and the handle works on."}, endOfTheSessionEndsTheLease},
	{Case{"release-frees-at-once", "After a release the next holder is granted without waiting for the TTL."}, releaseFreesAtOnce},
	{Case{"release-needs-the-grant", "A release by anything but the current grant changes nothing and says so."}, releaseNeedsTheGrant},
	{Case{"late-release-changes-nothing", "The release of a superseded holder does not free its successor's lease."}, lateReleaseChangesNothing},
	{Case{"release-by-grant-id-alone", "A grant can be given back by its id when its number never arrived."}, releaseByGrantIDAlone},
	{Case{"closing-ends-no-lease", "Closing a handle leaves the leases that were taken through it as they are."}, closingEndsNoLease},
	{Case{"renewal-prolongs-the-grant", "A renewed grant outlives its first TTL and keeps its number."}, renewalProlongsTheGrant},
	{Case{"renewal-never-creates", "A renewal of what was never granted, was released or has ended is refused and creates nothing."}, renewalNeverCreates},
	{Case{"renewal-races-release", "A renewal that races with the release of its grant does not bring the lease back."}, renewalRacesRelease},
	{Case{"late-renewal-changes-nothing", "The renewal of a superseded holder does not touch its successor's lease."}, lateRenewalChangesNothing},
	{Case{"renewal-keeps-no-other", "Renewing one grant does not keep another one of the same handle alive."}, renewalKeepsNoOther},
	{Case{"lease-lasts-its-ttl", "Nobody else is granted before the TTL ends, and somebody is soon after."}, leaseLastsItsTTL},
	{Case{"ttl-is-checked", "A TTL that is not positive, no multiple of the service's unit or out of its bounds is refused, and one beyond all bounds is no short one."}, ttlIsChecked},
	{Case{"resources-are-independent", "Every valid name is a resource of its own, byte for byte, whatever it contains."}, resourcesAreIndependent},
	{Case{"held-names-the-holder", "A refusal names the holder and how long its lease can last."}, heldNamesTheHolder},
	{Case{"source-is-one", "All handles name the same source and guarantee, and the source fits in a token."}, sourceIsOne},
	{Case{"batch-renewal-answers-each", "Renewing many grants answers each of them, and one that is refused does not hinder the others."}, batchRenewalAnswersEach},
	{Case{"seed-only-raises", "A seed makes later numbers greater than a given one, exactly, and never lowers."}, seedOnlyRaises},
	{Case{"seed-reaches-waiters", "A waiter that came before a seed and is granted after it gets a greater number too."}, seedReachesWaiters},
	{Case{"inspect-tells-the-truth", "Inspecting shows the running lease with its number and holder, or else a number that no grant so far exceeds."}, inspectTellsTheTruth},
	{Case{"queue-is-in-order", "Waiters in a queue are granted in the order of their arrival."}, queueIsInOrder},
	{Case{"repeated-waiter-is-the-same-grant", "A wait that is repeated because its reply was lost returns the same grant and number at once."}, repeatedWaiterIsTheSameGrant},
	{Case{"cancelled-waiter-leaves-the-queue", "A waiter that gives up does not block those behind it."}, cancelledWaiterLeavesTheQueue},
	{Case{"cancel-races-hand-over", "A waiter that gives up while the lock is handed over to it does not keep it from the next one."}, cancelRacesHandOver},
	{Case{"lost-waiter-leaves-the-queue", "A waiter that gives up while its connection is broken does not block others longer than its TTL."}, lostWaiterLeavesTheQueue},
	{Case{"waiter-says-that-its-session-ended", "A waiter whose session has ended returns an error at once and leaves the queue."}, waiterSaysThatItsSessionEnded},
	{Case{"waiter-follows-a-dead-holder", "A waiter is granted when the holder's lease runs out without a release."}, waiterFollowsADeadHolder},
	{Case{"wait-is-woken-by-release", "A wait for a signal ends when the resource is released, and with its context."}, waitIsWokenByRelease},
	{Case{"every-waiter-is-served", "No waiter is left behind when many contend through Lockers."}, everyWaiterIsServed},
	{Case{"two-hundred-waiters-are-served", "Of two hundred waiters none is left behind."}, twoHundredWaitersAreServed},
	{Case{"locker-keeps-its-lease", "A Locker renews its lease past the TTL, and a release lets the next one in with a later token."}, lockerKeepsItsLease},
	{Case{"locker-says-lost", "When somebody else is granted, the lease of the holder before already says lost, and its release changes nothing."}, lockerSaysLost},
	{Case{"locker-releases-after-renewal", "A Locker's release is sent after the answer to a renewal under way, and frees the resource."}, lockerReleasesAfterRenewal},
	{Case{"cancelled-wait-leaves-nothing", "A wait that times out says who was in the way and leaves nothing behind."}, cancelledWaitLeavesNothing},
	{Case{"close-leaves-no-goroutine", "Closing a Locker ends its waiters and leaves no goroutine behind."}, closeLeavesNoGoroutine},
}
