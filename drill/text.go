package drill

import (
	"fmt"
	"io"
	"time"
)

// Style is how text is written.
type Style struct {
	// Color allows colours, for a terminal.
	Color bool
	// ASCII keeps to ASCII, for what may not show other signs.
	ASCII bool
	// Width is the number of columns, at least 60. Default: 80.
	Width int
	// Verbose writes the timeline of every run, and every check in full. Default: the timelines with the fence and one that
	// shows the damage without, and only failed checks in full.
	Verbose bool
	// Repeat writes the verdict at the end again, where a terminal shows it when all has scrolled by.
	Repeat bool
	// Table draws the summary, a header and rows. Default: plain columns.
	Table func(w io.Writer, header []string, rows [][]string)
}

// WriteText writes the report for people: the verdict, a summary of all runs, then timelines.
func (r *Report) WriteText(w io.Writer, style Style) error {
	if style.Width == 0 {
		style.Width = 80
	}
	style.Width = max(style.Width, 60)
	if style.Table == nil {
		style.Table = plainTable
	}
	p := &printer{style: style}
	p.prose("", r.tone(), r.headline())
	p.line("")
	r.writeSummary(p)
	p.line("")
	p.prose("", neutral, story)
	p.prose("", neutral, fmt.Sprintf("A's lease is %v. Real processes, signals and database files; %.1f s in all.",
		time.Duration(r.TTLMS)*time.Millisecond, seconds(r.TookMS)))
	p.line("")
	writeLegend(p)
	for _, run := range r.shown(style.Verbose) {
		p.line("")
		run.writeTimeline(p)
	}
	if err := p.print(w); err != nil {
		return err
	}
	if r.Dir != "" {
		if _, err := fmt.Fprintf(w, "\nDatabases and logs are kept in %s\n", r.Dir); err != nil {
			return err
		}
	}
	if style.Repeat {
		p.line("")
		p.prose("", r.tone(), r.headline())
	}
	return p.print(w)
}

// shown are the runs whose timelines are worth the reader's time.
func (r *Report) shown(all bool) []*Run {
	runs := r.fenced()
	if all {
		return append(runs, r.contrast()...)
	}
	if worst := r.worstContrast(); worst != nil {
		runs = append(runs, worst)
	}
	return runs
}

// writeSummary is the table of orders and guards.
func (r *Report) writeSummary(p *printer) {
	header, rows := []string{"order"}, [][]string{}
	for _, guard := range r.guards() {
		header = append(header, guard.Title())
	}
	for _, order := range Orders {
		row := []string{order.Title()}
		for _, guard := range r.guards() {
			if run := r.run(order, guard); run != nil {
				row = append(row, p.paint(run.tone(), fmt.Sprintf("%s %d", run.short(), run.Row.Balance)))
			}
		}
		rows = append(rows, row)
	}
	p.style.Table(&p.text, header, rows)
}
