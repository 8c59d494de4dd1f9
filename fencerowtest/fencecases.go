package fencerowtest

// fenceCases are the promises of a fence, the gravest first.
var fenceCases = []fenceCase{
	{Case{"older-refused-after-write", "Once a newer holder has written, a write of an older one is refused as stale, with both numbers."}, olderIsRefusedAfterAWrite},
	{Case{"older-refused-after-claim", "Once a newer holder has claimed, a write or claim of an older one is refused, before the newer one has written."}, olderIsRefusedAfterAClaim},
	{Case{"no-update-is-lost", "An accepted write was computed from the value that it replaces, whoever wakes first."}, noUpdateIsLost},
	{Case{"claim-is-strict", "Of two grants with the same number at most one is accepted."}, claimIsStrict},
	{Case{"stamp-is-applied-once", "A write is applied at most once per stamp, however often it is sent."}, stampIsAppliedOnce},
	{Case{"stamp-is-required", "A write or claim without a token, or with a step below 1, is refused."}, stampIsRequired},
	{Case{"foreign-resource-refused", "The token of one resource writes no other."}, foreignResourceIsRefused},
	{Case{"foreign-source-refused", "A resource follows one source; a token of another is refused whatever its number."}, foreignSourceIsRefused},
	{Case{"write-needs-claim", "A write of a grant that has not claimed is refused."}, writeNeedsAClaim},
	{Case{"claim-may-be-repeated", "The same grant may claim again; it reads the newest value and keeps its steps."}, claimMayBeRepeated},
	{Case{"grant-writes-many-times", "A grant may write any number of times."}, grantWritesManyTimes},
	{Case{"grant-writes-once", "Without steps a grant writes once, and its second write is a duplicate, not stale."}, grantWritesOnce},
	{Case{"steps-stay-in-order", "A delayed earlier step of the same grant is refused; steps of a newer grant come after all of an older one."}, stepsStayInOrder},
	{Case{"refusal-leaves-no-trace", "A refused write changes neither the value nor the mark."}, refusalLeavesNoTrace},
	{Case{"numbers-are-exact", "Numbers are compared as integers of 63 bits, also beyond 2^53 and where text would compare the other way."}, numbersAreExact},
	{Case{"missing-is-not-stale", "What does not exist is said to be missing, not stale."}, missingIsNotStale},
	{Case{"null-is-unfenced", "A mark that is NULL fails closed and is not said to be stale."}, nullIsUnfenced},
	{Case{"mark-survives-removal", "Removing the protected value does not lower the mark."}, markSurvivesRemoval},
	{Case{"cancelled-context-is-no-false-answer", "A write whose context has ended says nothing that is not so."}, cancelledContextIsNoFalseAnswer},
	{Case{"concurrent-holders", "With holders that come and go while older ones go on writing, accepted writes form one chain and every answer is true."}, concurrentHolders},
	{Case{"racing-claims-leave-the-newest", "Of claims that race on a new resource the newest stays."}, racingClaimsLeaveTheNewest},
	{Case{"racing-retries-are-applied-once", "Of retries that race with the same stamp one is applied."}, racingRetriesAreAppliedOnce},
	{Case{"stale-cancels-the-lease", "A stale answer cancels the context of the lease that issued the stamp, with the cause."}, staleCancelsTheLease},
}
