// Package clock reads time for leases: it goes on while the machine is suspended and does not follow steps of the wall
// clock.
package clock

import "time"

// Clock measures the time since its origin. The zero Clock is not ready; use [New].
type Clock struct {
	origin time.Time     // with Go's monotonic reading
	wall   time.Time     // without
	boot   time.Duration // of the boot-time clock, where there is one
}

// New returns a clock whose origin is now.
func New() Clock {
	now := time.Now()
	boot, _ := bootTime()
	return Clock{origin: now, wall: now.Round(0), boot: boot}
}

// Now returns the time since the origin. It never goes back.
//
// Go's monotonic clock stands still while Linux is suspended, so the boot-time clock is asked too and the larger answer
// counts: too late an idea of the time ends a lease early, which is safe. Where there is no boot-time clock the wall clock
// stands in for it, at the price that a wall clock set forward ends leases early as well.
func (c Clock) Now() time.Duration {
	elapsed := time.Since(c.origin)
	if boot, ok := bootTime(); ok {
		return max(elapsed, boot-c.boot)
	}
	return max(elapsed, time.Now().Round(0).Sub(c.wall))
}
