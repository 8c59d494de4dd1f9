package fencerow

import (
	"container/heap"
	"time"

	"github.com/fencerow/fencerow/driver"
)

// machine decides when each lease is renewed and when it is lost. It has no goroutine, no clock, no randomness and no
// transport of its own: the caller passes in the time and carries out what it answers. Times are those of one clock that
// goes on while the machine is suspended.
type machine struct {
	queue  timeline       // every live entry, by the time of its next event
	due    []*entry       // entries to renew now, oldest first
	jitter func() float64 // 0 ≤ x < 1
}

// entry is the machine's record of one lease.
type entry struct {
	lease *Lease // not used by the machine
	grant driver.Grant

	deadline time.Duration // the lease counts as lost from here on
	renewAt  time.Duration
	lastErr  error // of the latest renewal that failed without a definite answer

	position  int // in the timeline, -1 while not in it
	listed    bool
	inFlight  bool
	renewDone chan struct{} // closed when the renewal in flight has ended
}

// The share of the TTL that is kept as a distance to the service's own expiry, for clocks that run at unequal speed and
// for the way from a lost lease to a stopped worker.
const marginShare = 10

// deadlineFor is counted from the time before the request was sent: the service started to count later.
func deadlineFor(sent, ttl time.Duration) time.Duration { return sent + ttl - ttl/marginShare }

// add starts to look after a lease that was asked for at sent.
func (m *machine) add(e *entry, sent time.Duration) {
	e.deadline = deadlineFor(sent, e.grant.TTL)
	e.renewAt = m.spread(sent, e.grant.TTL/3)
	e.position = -1
	heap.Push(&m.queue, e)
}

// addUnrenewed starts to look after a lease that only ever ends.
func (m *machine) addUnrenewed(e *entry, sent time.Duration) {
	e.deadline = deadlineFor(sent, e.grant.TTL)
	e.renewAt = e.deadline
	e.position = -1
	heap.Push(&m.queue, e)
}

// spread returns a time up to a tenth before start+wait, so that leases taken together do not renew together for ever.
func (m *machine) spread(start, wait time.Duration) time.Duration {
	return start + wait - time.Duration(m.jitter()*float64(wait/10))
}

// advance returns the leases that are lost by now and lists those that are due for renewal.
func (m *machine) advance(now time.Duration) (lost []*entry) {
	for len(m.queue) > 0 && m.queue[0].nextEvent() <= now {
		e := m.queue[0]
		if e.deadline <= now {
			m.remove(e)
			lost = append(lost, e)
			continue
		}
		e.listed = true
		m.due = append(m.due, e)
		heap.Fix(&m.queue, e.position)
	}
	return lost
}

// take returns up to n leases to renew now.
func (m *machine) take(n int) []*entry {
	var batch []*entry
	for len(m.due) > 0 && len(batch) < n {
		e := m.due[0]
		m.due = m.due[1:]
		if !e.listed { // removed since
			continue
		}
		e.listed, e.inFlight = false, true
		e.renewDone = make(chan struct{})
		batch = append(batch, e)
	}
	return batch
}

// renewed records the service's answer to a renewal that was sent at sent. A definite refusal means that the lease is
// lost; any other error leaves it as it was, to be tried again until its deadline.
func (m *machine) renewed(e *entry, sent, now time.Duration, err error) (lost bool) {
	e.inFlight = false
	close(e.renewDone)
	if e.position < 0 { // released or lost while the request was under way
		return false
	}
	switch {
	case isNotCurrent(err):
		m.remove(e)
		return true
	case err != nil:
		e.lastErr = err
		e.renewAt = m.spread(now, e.grant.TTL/marginShare)
	default:
		e.lastErr = nil
		e.deadline = max(e.deadline, deadlineFor(sent, e.grant.TTL))
		e.renewAt = m.spread(sent, e.grant.TTL/3)
	}
	heap.Fix(&m.queue, e.position)
	return false
}

// remove stops looking after a lease.
func (m *machine) remove(e *entry) {
	e.listed = false
	if e.position >= 0 {
		heap.Remove(&m.queue, e.position)
	}
}

// next returns the time of the next event.
func (m *machine) next() (at time.Duration, ok bool) {
	if len(m.queue) == 0 {
		return 0, false
	}
	return m.queue[0].nextEvent(), true
}

// idle reports whether there is nothing to look after.
func (m *machine) idle() bool { return len(m.queue) == 0 }

// nextEvent of a lease whose renewal is listed or in flight is only its end.
func (e *entry) nextEvent() time.Duration {
	if e.listed || e.inFlight {
		return e.deadline
	}
	return min(e.renewAt, e.deadline)
}

// timeline is a heap of entries by their next event.
type timeline []*entry

func (t timeline) Len() int           { return len(t) }
func (t timeline) Less(i, j int) bool { return t[i].nextEvent() < t[j].nextEvent() }
func (t timeline) Swap(i, j int) {
	t[i], t[j] = t[j], t[i]
	t[i].position, t[j].position = i, j
}

func (t *timeline) Push(x any) {
	e := x.(*entry)
	e.position = len(*t)
	*t = append(*t, e)
}

func (t *timeline) Pop() any {
	old := *t
	e := old[len(old)-1]
	old[len(old)-1] = nil
	*t = old[:len(old)-1]
	e.position = -1
	return e
}
