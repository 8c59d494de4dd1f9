package drill

import (
	"fmt"

	"github.com/fencerow/fencerow"
)

// chart is the timeline of a run as a picture: time flows down, each worker has a lane, and the account's row has a column at the
// right. Distances are in pixels of the picture.
type chart struct {
	ID            string
	Title, Desc   string
	Width, Height int
	Lanes         []chartLane
	Bars          []chartBar
	Steps         []chartStep
	Column        int // of the row's facts
}

type chartLane struct {
	X     int
	Name  string
	Below int // where the lane's line ends
}

// chartBar is a lease or a freeze.
type chartBar struct {
	X, Y, Height int
	Class        string
}

// chartStep is one event.
type chartStep struct {
	X, Y        int
	Time        string
	Sign, Label string
	Class       string
	Fact        string // what the row holds from here on, if that has changed
}

const (
	chartTime   = 64  // width of the column of seconds
	chartLaneW  = 196 // width of a lane
	chartFactsW = 150
	chartTop    = 56
	chartRow    = 27
)

var classes = map[tone]string{neutral: "plain", good: "good", bad: "bad", cold: "cold"}

func newChart(r *Run) chart {
	names := r.lanes()
	c := chart{
		ID:     string(r.Order) + "-" + string(r.Guard),
		Title:  r.Title + ", " + r.Guard.Title(),
		Desc:   r.explain(),
		Width:  chartTime + len(names)*chartLaneW + chartFactsW,
		Height: chartTop + len(r.Events)*chartRow + 12,
		Column: chartTime + len(names)*chartLaneW + 8,
	}
	lane := map[string]int{}
	for i, name := range names {
		lane[name] = chartTime + 14 + i*chartLaneW
		c.Lanes = append(c.Lanes, chartLane{X: lane[name], Name: "worker " + name, Below: c.Height - 12})
	}
	y := func(i int) int { return chartTop + i*chartRow }
	fact := ""
	for i, s := range r.steps() {
		c.Steps = append(c.Steps, chartStep{
			X: lane[s.Worker], Y: y(i), Time: fmt.Sprintf("%.3f", seconds(s.AtMS)), Sign: s.sign, Label: s.label, Class: classes[s.tone],
		})
		if now := r.rowAfter(i); now != fact {
			fact = now
			c.Steps[i].Fact = now
		}
	}
	for _, name := range names {
		c.Bars = append(c.Bars, r.bars(name, lane[name], y)...)
	}
	return c
}

// bars are the lease of a worker and, upon it, its freeze.
func (r *Run) bars(worker string, x int, y func(int) int) (bars []chartBar) {
	last := len(r.Events) - 1
	span := func(class string, begins Kind, ends ...Kind) {
		from := -1
		for i, e := range r.Events {
			if e.Worker != worker {
				continue
			}
			if e.Kind == begins {
				from = i
			}
			for _, end := range ends {
				if from >= 0 && e.Kind == end {
					bars = append(bars, chartBar{X: x, Y: y(from), Height: max(y(i)-y(from), 4), Class: class})
					from = -1
				}
			}
		}
		if from >= 0 {
			bars = append(bars, chartBar{X: x, Y: y(from), Height: y(last) - y(from), Class: class})
		}
	}
	span("lease", Granted, LeaseEnded, Released, Lost)
	span("frozen", Frozen, Thawed, Killed)
	return bars
}

// rowAfter says what the account's row holds after an event, as the answers to the workers tell it.
func (r *Run) rowAfter(i int) string {
	mark, balance := int64(0), int64(initialBalance)
	for _, e := range r.Events[:i+1] {
		switch {
		case e.Kind == Claimed:
			mark = max(mark, e.Token)
		case e.Kind == Wrote && e.Verdict == string(fencerow.Applied):
			balance -= debitAmount
		}
	}
	if r.Guard != Fence {
		return fmt.Sprintf("balance %d", balance)
	}
	return fmt.Sprintf("mark %d, balance %d", mark, balance)
}
