package clock

import (
	"runtime"
	"testing"
	"testing/synctest"
	"time"
)

func TestClockGoesForward(t *testing.T) {
	c := New()
	last := c.Now()
	for range 10_000 {
		now := c.Now()
		if now < last {
			t.Fatalf("the clock went back from %v to %v", last, now)
		}
		last = now
	}
}

// A suspended machine cannot be made in a test. What it does can: the boot-time clock moves on and Go's monotonic clock does
// not, as if the origin of the one lay further back.
func TestClockCountsSuspension(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Logf("no boot-time clock on %s: the wall clock stands in for it", runtime.GOOS)
		c := New()
		c.wall = c.wall.Add(-time.Hour)
		if now := c.Now(); now < time.Hour {
			t.Fatalf("an hour of suspension counts as %v", now)
		}
		return
	}
	c := New()
	c.boot -= time.Hour
	if now := c.Now(); now < time.Hour || now > time.Hour+time.Minute {
		t.Fatalf("an hour of suspension counts as %v", now)
	}
}

func TestClockIgnoresAStepOfTheWallClock(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Logf("no boot-time clock on %s: a step forward ends leases early, a step back changes nothing", runtime.GOOS)
		c := New()
		c.wall = c.wall.Add(time.Hour)
		if now := c.Now(); now < 0 || now > time.Minute {
			t.Fatalf("after a step back the clock says %v", now)
		}
		return
	}
	for _, step := range []time.Duration{time.Hour, -time.Hour} {
		c := New()
		c.wall = c.wall.Add(-step)
		if now := c.Now(); now > time.Minute {
			t.Fatalf("a step of the wall clock by %v counts as %v", step, now)
		}
	}
}

func TestClockFollowsTheBubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New()
		time.Sleep(24 * time.Hour)
		if now := c.Now(); now < 24*time.Hour {
			t.Fatalf("a day in the bubble counts as %v", now)
		}
	})
}

func TestHostClock(t *testing.T) {
	first, epoch := Host()
	second, again := Host()
	if epoch == "" || epoch != again || second < first {
		t.Fatalf("Host = %d, %q, then %d, %q", first, epoch, second, again)
	}
	if boot, ok := bootTime(); ok && time.Duration(second-int64(boot)).Abs() > time.Minute {
		t.Fatalf("Host = %v, the boot-time clock says %v", time.Duration(second), boot)
	}
}
