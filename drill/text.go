package drill

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Style is how text is written.
type Style struct {
	// Color allows colours, for a terminal.
	Color bool
	// Width is the number of columns, at least 60. Default: 80.
	Width int
	// All writes the timeline of every run. Default: those with the fence, and one that shows the damage without.
	All bool
	// Table draws the summary, a header and rows. Default: plain columns.
	Table func(io.Writer, []string, [][]string)
}

// WriteText writes the report for people: the verdict, a summary of all runs, then timelines.
func (r *Report) WriteText(w io.Writer, style Style) error {
	style.Width = max(style.Width, 60)
	if style.Table == nil {
		style.Table = plainTable
	}
	p := &printer{style: style}
	p.prose("", r.verdictTone(), r.Verdict)
	p.line("")
	r.writeSummary(p)
	p.line("")
	p.prose("", neutral, fmt.Sprintf("Worker A reads the account, decides to debit %d, and is frozen past its lease of the account. "+
		"B takes over and does the same job. Then A wakes and writes. One debit is right: %d - %d = %d.",
		debitAmount, initialBalance, debitAmount, initialBalance-debitAmount))
	for i := range r.Runs {
		run := &r.Runs[i]
		if style.All || run.Guard == Fence || run.Outcome != Safe && run == r.worstContrast() {
			p.line("")
			run.writeTimeline(p)
		}
	}
	if r.Dir != "" {
		p.line("")
		p.line("Databases and logs are kept in %s", r.Dir)
	}
	_, err := io.WriteString(w, p.text.String())
	return err
}

func (r *Report) verdictTone() tone {
	if r.Passed {
		return good
	}
	return bad
}

// worstContrast is the run without a fence that shows the damage best: the order that a fence without a claim would miss.
func (r *Report) worstContrast() *Run {
	for _, order := range []Order{WakesBetween, WritesFirst, CrashesAfterClaim} {
		if run := r.run(order, NoFence); run != nil && run.Outcome == Corrupted {
			return run
		}
	}
	return nil
}

// writeSummary is the table of orders and guards.
func (r *Report) writeSummary(p *printer) {
	header, rows := []string{"order"}, [][]string{}
	for _, guard := range Guards {
		if r.run(Orders[0], guard) != nil {
			header = append(header, guard.Title())
		}
	}
	for _, order := range Orders {
		row := []string{order.Title()}
		for _, guard := range Guards {
			if run := r.run(order, guard); run != nil {
				row = append(row, p.paint(run.tone(), run.inWords()))
			}
		}
		rows = append(rows, row)
	}
	p.style.Table(&p.text, header, rows)
}

// writeTimeline lists the events downwards, a lane for each worker.
func (r *Run) writeTimeline(p *printer) {
	lanes := r.lanes()
	const timeWidth = 8
	width := (p.style.Width - timeWidth) / len(lanes)
	width = min(width, 34)

	p.line("%s  (%s)", p.paint(bold, r.Title), r.Guard.Title())
	p.line("")
	head := pad("seconds", timeWidth)
	for _, name := range lanes {
		head += pad("worker "+name, width)
	}
	p.line("%s", p.paint(bold, strings.TrimRight(head, " ")))
	frozen := map[string][]bool{}
	for _, name := range lanes {
		frozen[name] = r.frozen(name)
	}
	for i, e := range r.steps() {
		line := pad(fmt.Sprintf("%6.3f", seconds(e.AtMS)), timeWidth)
		for _, name := range lanes {
			switch {
			case name == e.Worker:
				line += p.paint(e.tone, pad(clip(e.sign+" "+e.label, width-1), width))
			case frozen[name][i]:
				line += p.paint(cold, pad("░", width))
			default:
				line += pad("", width)
			}
		}
		p.line("%s", strings.TrimRight(line, " "))
	}
	p.line("")
	p.line("  The database: balance %d, %s, fence_token %d.", r.Row.Balance, plural(r.Row.Debits, "debit"), r.Row.Token)
	p.prose("  ", r.tone(), r.explain())
	if r.Guard == Fence {
		for _, c := range r.Checks {
			sign, t := "✔", good
			if !c.OK {
				sign, t = "✘", bad
			}
			p.prose("  ", t, sign+" "+c.Name+": "+c.Detail)
		}
	}
}

// printer collects lines.
type printer struct {
	style Style
	text  strings.Builder
}

func (p *printer) line(format string, args ...any) { fmt.Fprintf(&p.text, format+"\n", args...) }

// prose breaks a paragraph into lines.
func (p *printer) prose(indent string, t tone, text string) {
	line := indent
	for _, word := range strings.Fields(text) {
		if n := utf8.RuneCountInString(line) + 1 + utf8.RuneCountInString(word); n > min(p.style.Width, 100) && line != indent {
			p.line("%s", p.paint(t, line))
			line = indent
		}
		if line != indent {
			line += " "
		}
		line += word
	}
	p.line("%s", p.paint(t, line))
}

const bold tone = -1

var codes = map[tone]string{bold: "1", good: "32", bad: "1;31", cold: "36"}

func (p *printer) paint(t tone, text string) string {
	code, ok := codes[t]
	if !ok || !p.style.Color {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func pad(s string, width int) string {
	return s + strings.Repeat(" ", max(0, width-utf8.RuneCountInString(s)))
}

func clip(s string, width int) string {
	if utf8.RuneCountInString(s) <= width {
		return s
	}
	return string([]rune(s)[:width-1]) + "…"
}

// plainTable aligns columns with spaces.
func plainTable(w io.Writer, header []string, rows [][]string) {
	widths := make([]int, len(header))
	for _, row := range append([][]string{header}, rows...) {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, row := range append([][]string{header}, rows...) {
		var line strings.Builder
		for i, cell := range row {
			line.WriteString(pad(cell, widths[i]+2))
		}
		fmt.Fprintln(w, strings.TrimRight(line.String(), " "))
	}
}
