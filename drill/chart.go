package drill

import (
	"fmt"
	"html/template"
	"time"
)

// chart is the timeline of a run as a picture: time flows down, and each worker has a lane. In the wide form the lanes stand apart
// with the words in them, and the account's row has a column at the right. In the narrow form, for a phone, the lanes stand close
// together and the words of all follow. Distances are in pixels of the picture.
type chart struct {
	Title, Desc   string
	Narrow        bool
	Unit          string // of the column of times
	Width, Height int
	Lanes         []chartLane
	Bars          []chartBar
	Pauses        []chartPause
	Steps         []chartStep
	Number, Time  int // right ends of two columns
	Facts         int // left end of the column of the row's facts
}

type chartLane struct {
	X, Below int // where the lane's line stands and ends
	Name     string
}

// chartBar is a lease or a freeze.
type chartBar struct {
	X, Y, Height int
	Class        string
}

// chartPause is a time in which nothing happens.
type chartPause struct {
	X, Y int
	Text string
}

// chartStep is one event.
type chartStep struct {
	Number       int
	X, Y         int
	Words        int // where the label stands
	Time         string
	Mark         template.HTML // the drawn sign, see sign.go
	Label, Class string
	Fact         string // what the row holds from here on, if that has changed
	FactX, FactY int
}

// layout is what tells the two forms apart.
type layout struct {
	number, time  int // right ends of columns
	first, lane   int // the first lane's place, and the distance of lanes
	words, facts  int // width of a label and of the facts
	row, factDown int // distance of steps, and how far below its label a fact stands
}

var (
	wide   = layout{number: 20, time: 68, first: 92, lane: 186, words: 170, facts: 150, row: 27}
	narrow = layout{number: 13, time: 57, first: 77, lane: 22, words: 226, row: 27, factDown: 15}
)

const (
	chartTop  = 56
	pauseStep = 24
)

var classes = map[tone]string{neutral: "plain", good: "good", bad: "bad", barred: "barred", cold: "cold"}

func newChart(r *Run, l layout) chart {
	names := r.lanes()
	c := chart{
		Title: r.Title + ", " + r.Guard.Title(), Desc: r.explain(), Narrow: l.factDown > 0,
		Number: l.number, Time: l.time,
	}
	c.Unit = "seconds"
	if c.Narrow {
		c.Unit = "s"
	}
	lane := map[string]int{}
	for i, name := range names {
		lane[name] = l.first + i*l.lane
		title := "worker " + name
		if c.Narrow {
			title = name
		}
		c.Lanes = append(c.Lanes, chartLane{X: lane[name], Name: title})
	}
	c.Facts = l.first + len(names)*l.lane
	y := c.addSteps(r, l, lane)
	for _, name := range names {
		c.Bars = append(c.Bars, r.bars(name, lane[name], y)...)
	}
	c.Height = y[len(y)-1] + l.factDown + 20
	for i := range c.Lanes {
		c.Lanes[i].Below = c.Height - 8
	}
	c.Width = c.Facts + l.facts
	if c.Narrow {
		c.Width += l.words
	}
	return c
}

// addSteps places the steps one below the other and returns their heights.
func (c *chart) addSteps(r *Run, l layout, lane map[string]int) (y []int) {
	at, rows := chartTop-l.row, r.rows()
	for i, s := range r.steps() {
		at += l.row
		if s.pause > 0 {
			at += pauseStep
			c.Pauses = append(c.Pauses, chartPause{X: c.Time, Y: at - (l.row+pauseStep)/2, Text: pauseText(s.pause)})
		}
		step := chartStep{
			Number: s.number, X: lane[s.Worker], Y: at, Words: lane[s.Worker] + 16,
			Time: fmt.Sprintf("%.3f", seconds(s.AtMS)), Mark: drawn[s.sign], Label: s.label, Class: classes[s.tone],
		}
		if c.Narrow {
			step.Words, step.Label = c.Facts, s.Worker+" "+s.label
		}
		if i == 0 || rows[i] != rows[i-1] {
			step.Fact, step.FactX, step.FactY = rows[i].fact(r.Guard), c.Facts, at+l.factDown
			if c.Narrow {
				step.Fact = "row: " + step.Fact
			}
		}
		c.Steps = append(c.Steps, step)
		y = append(y, at)
		if step.Fact != "" {
			at += l.factDown
		}
	}
	return y
}

func pauseText(d time.Duration) string { return fmt.Sprintf("+%.2f s", d.Seconds()) }

// fact is the row in words. Without a fence there is no mark.
func (s rowState) fact(guard Guard) string {
	if guard != Fence {
		return fmt.Sprintf("balance %d", s.balance)
	}
	return fmt.Sprintf("mark %d, balance %d", s.mark, s.balance)
}

// bars are the lease of a worker and, upon it, its freeze.
func (r *Run) bars(worker string, x int, y []int) (bars []chartBar) {
	span := func(class string, under []bool) {
		from := -1
		for i, now := range under {
			switch {
			case now && from < 0:
				from = i
			case !now && from >= 0:
				bars = append(bars, chartBar{X: x, Y: y[from], Height: y[i] - y[from], Class: class})
				from = -1
			}
		}
		if from >= 0 {
			bars = append(bars, chartBar{X: x, Y: y[from], Height: y[len(y)-1] - y[from], Class: class})
		}
	}
	span("lease", r.leased(worker))
	span("frozen", r.frozen(worker))
	return bars
}
