package drill

import (
	"fmt"
	"strings"
)

// What a lane shows while nothing else happens in it.
const (
	barLease  = "┃"
	barFrozen = "▓" // under the lease
	barStray  = "░" // frozen, and the lease is over
	barPause  = "⋮"
)

// The widths of the columns: number and seconds, a lane, the account's row.
const (
	headWidth    = 11
	minLaneWidth = 23
	maxLaneWidth = 30
	rowWidth     = 14
)

// writeLegend explains the signs in a line.
func writeLegend(p *printer) {
	p.flow("", neutral, "  ", []string{
		barLease + " lease", p.paint(cold, barFrozen+" frozen"), p.paint(cold, barStray+" past its lease"),
		p.paint(good, signApplied+" applied"), p.paint(barred, signRefused+" refused"), p.paint(bad, signAccepted+" stale, accepted"),
	})
}

// timeline is the picture of a run in text: time goes down, each worker has a lane, and the account's row is at the right if
// there is room.
type timeline struct {
	p              *printer
	run            *Run
	width          int // of a lane
	showRow        bool
	leased, frozen map[string][]bool
}

func (r *Run) writeTimeline(p *printer) {
	t := &timeline{p: p, run: r, leased: map[string][]bool{}, frozen: map[string][]bool{}}
	lanes := r.lanes()
	for _, name := range lanes {
		t.leased[name], t.frozen[name] = r.leased(name), r.frozen(name)
	}
	t.width = (p.style.Width - headWidth - rowWidth) / len(lanes)
	if t.showRow = t.width >= minLaneWidth; !t.showRow {
		t.width = (p.style.Width - headWidth) / len(lanes)
	}
	t.width = min(t.width, maxLaneWidth)

	p.line("%s  (%s)", p.paint(bold, r.Title), r.Guard.Title())
	p.line("")
	t.writeHead(lanes)
	rows := r.rows()
	for i, s := range r.steps() {
		if s.pause > 0 {
			t.writePause(lanes, i, s)
		}
		changed := i == 0 || rows[i] != rows[i-1]
		t.writeStep(lanes, i, s, rows[i], changed)
	}
	p.line("")
	p.prose("  ", neutral, fmt.Sprintf("The database in the end: %s.", r.inTheEnd()))
	p.prose("  ", r.tone(), r.explain())
	r.writeChecks(p)
}

func (t *timeline) writeHead(lanes []string) {
	line := pad("  seconds", headWidth)
	for _, name := range lanes {
		line += pad("worker "+name, t.width)
	}
	if t.showRow {
		if t.run.Guard == Fence {
			line += "mark  "
		} else {
			line += "      "
		}
		line += "balance"
	}
	t.p.line("%s", t.p.paint(bold, strings.TrimRight(line, " ")))
}

// writePause stands for the time in which nothing happens, which is most of it.
func (t *timeline) writePause(lanes []string, i int, s step) {
	line := pad("        "+barPause, headWidth)
	for _, name := range lanes {
		text := t.bar(name, i-1)
		if name == s.Worker {
			text += fmt.Sprintf(" %.2f s", s.pause.Seconds())
		}
		line += t.paintBar(name, i-1, pad(text, t.width))
	}
	t.p.line("%s", strings.TrimRight(line, " "))
}

func (t *timeline) writeStep(lanes []string, i int, s step, row rowState, changed bool) {
	line := pad(fmt.Sprintf("%2d %6.3f", s.number, seconds(s.AtMS)), headWidth)
	for _, name := range lanes {
		if name != s.Worker {
			line += t.paintBar(name, i, pad(t.bar(name, i), t.width))
			continue
		}
		sign := s.sign
		if bar := t.bar(name, i); sign == signNone && bar != "" {
			sign = bar
		}
		line += t.p.paint(s.tone, pad(clip(sign+" "+s.label, t.width-1), t.width))
	}
	if t.showRow && changed {
		line += fmt.Sprintf("%s  %7d", t.mark(row), row.balance)
	}
	t.p.line("%s", strings.TrimRight(line, " "))
}

// mark is what the fence has stored. Without a fence there is none.
func (t *timeline) mark(row rowState) string {
	if t.run.Guard != Fence {
		return "    "
	}
	return fmt.Sprintf("%4d", row.mark)
}

func (t *timeline) bar(worker string, i int) string {
	switch {
	case t.frozen[worker][i] && t.leased[worker][i]:
		return barFrozen
	case t.frozen[worker][i]:
		return barStray
	case t.leased[worker][i]:
		return barLease
	}
	return ""
}

func (t *timeline) paintBar(worker string, i int, text string) string {
	if t.frozen[worker][i] {
		return t.p.paint(cold, text)
	}
	return text
}

// writeChecks names what was checked, and says more where a check has failed.
func (r *Run) writeChecks(p *printer) {
	var held []string
	for _, c := range r.Checks {
		if c.OK && !p.style.Verbose {
			held = append(held, signApplied+" "+c.Name)
			continue
		}
		sign, t := signApplied, good
		if !c.OK {
			sign, t = signRefused, bad
		}
		for i, line := range fill(strings.Fields(c.Name+": "+c.Detail), " ", p.style.Width-4) {
			if i > 0 {
				sign = " "
			}
			p.line("  %s", p.paint(t, sign+" "+line))
		}
	}
	if r.Guard == Fence && len(held) > 0 {
		p.flow("  ", good, "  ", held)
	}
}
