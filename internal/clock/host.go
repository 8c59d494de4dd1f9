package clock

import "time"

// Host returns a time that all processes of this host share, in nanoseconds, and the epoch in which it counts. Times of
// two epochs cannot be compared.
//
// On Linux it is the boot-time clock and the epoch is the boot: no process of an earlier boot is left, and a step of the
// wall clock changes nothing. Elsewhere it is the wall clock.
func Host() (now int64, epoch string) {
	if boot, ok := bootTime(); ok && bootID() != "" {
		return int64(boot), bootID()
	}
	return time.Now().UnixNano(), "wall"
}
