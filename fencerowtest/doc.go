// Package fencerowtest is the conformance kit: the promises of lock services and fences as cases that any implementation can
// be held to.
//
// A case has a name, its promise in one sentence, and a run that looks for a violation. [CheckLocks] and [CheckFence] run all
// of them and return a [Report]; they need no *testing.T, so that a command can run the same cases against a live service.
// [TestLocks] and [TestFence] are the same for go test:
//
//	func TestConformance(t *testing.T) {
//		fencerowtest.TestLocks(t, fencerowtest.LockHarness{
//			Name: "mylock",
//			Open: func(ctx context.Context) (driver.LockService, error) { return mylock.Open(ctx, endpoint) },
//			TTL:  300 * time.Millisecond,
//		})
//	}
//
// Cases run side by side, each on resources of its own. An ability that the subject does not have is reported as not offered,
// with what is missing; it is never passed over in silence. What the subject can do is seen from the interfaces of package driver
// that it implements, from [Features], and from the fields of the harness that are set.
//
// Passing the kit is the definition of done for an implementation. It is no proof: a case can only see what it provokes. That
// every case can fail is shown by tests of the kit, which plant mistakes in small fakes and name the case that must find each.
package fencerowtest
