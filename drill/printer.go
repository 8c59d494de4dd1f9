package drill

import (
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"
)

// printer collects lines of text of a width.
type printer struct {
	style Style
	text  strings.Builder
}

func (p *printer) line(format string, args ...any) { fmt.Fprintf(&p.text, format+"\n", args...) }

// prose breaks a paragraph into lines, each after the indent.
func (p *printer) prose(indent string, t tone, text string) {
	p.flow(indent, t, " ", strings.Fields(text))
}

// flow sets items one after the other and breaks lines between them only.
func (p *printer) flow(indent string, t tone, between string, items []string) {
	for _, line := range fill(items, between, p.style.Width-utf8.RuneCountInString(indent)) {
		p.line("%s%s", indent, p.paint(t, line))
	}
}

// fill sets items into lines of a width.
func fill(items []string, between string, width int) (lines []string) {
	line := ""
	for _, item := range items {
		if line != "" && columns(line+between+item) > width {
			lines = append(lines, line)
			line = ""
		}
		if line != "" {
			line += between
		}
		line += item
	}
	return append(lines, line)
}

// columns is the number of columns that a text takes on a terminal.
func columns(text string) int { return utf8.RuneCountInString(colorCode.ReplaceAllString(text, "")) }

var colorCode = regexp.MustCompile("\x1b\\[[0-9;]*m")

const bold tone = -1

var codes = map[tone]string{bold: "1", good: "32", bad: "1;31", barred: "33", cold: "36"}

func (p *printer) paint(t tone, text string) string {
	code, ok := codes[t]
	if !ok || !p.style.Color || strings.TrimSpace(text) == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// inASCII stands in for the signs, one for one, so that columns keep their widths.
var inASCII = strings.NewReplacer(
	signNone, "-", signGranted, ">", signFrozen, "=", signThawed, "~", signKilled, "X",
	signApplied, "+", signRefused, "x", signAccepted, "!",
	barLease, "|", barFrozen, "#", barStray, "%", barPause, ":", cut, "~",
)

// cut stands for the end of a text that is too long.
const cut = "…"

// print writes what was collected, and starts anew.
func (p *printer) print(w io.Writer) error {
	text := p.text.String()
	p.text.Reset()
	if p.style.ASCII {
		text = inASCII.Replace(text)
	}
	_, err := io.WriteString(w, text)
	return err
}

func pad(s string, width int) string {
	return s + strings.Repeat(" ", max(0, width-utf8.RuneCountInString(s)))
}

func clip(s string, width int) string {
	if utf8.RuneCountInString(s) <= width {
		return s
	}
	return string([]rune(s)[:width-1]) + cut
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
