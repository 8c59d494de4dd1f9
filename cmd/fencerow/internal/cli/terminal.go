package cli

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"golang.org/x/term"

	"github.com/fencerow/fencerow/drill"
)

// styleOf chooses colours and tables for a terminal and plain text for everything else.
func styleOf(out io.Writer) drill.Style {
	style := drill.Style{Width: 80}
	file, ok := terminal(out)
	if !ok {
		return style
	}
	if width, _, err := term.GetSize(int(file.Fd())); err == nil && width > 0 {
		style.Width = width
	}
	style.Color = os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	style.Table = drawTable
	return style
}

func terminal(out io.Writer) (*os.File, bool) {
	file, ok := out.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return nil, false
	}
	return file, true
}

func drawTable(out io.Writer, header []string, rows [][]string) {
	t := table.NewWriter()
	t.SetStyle(table.StyleRounded)
	t.Style().Format.Header = 0 // as it is written
	t.AppendHeader(tableRow(header))
	for _, row := range rows {
		t.AppendRow(tableRow(row))
	}
	fmt.Fprintln(out, t.Render())
}

func tableRow(cells []string) table.Row {
	row := make(table.Row, len(cells))
	for i, cell := range cells {
		row[i] = cell
	}
	return row
}

// progressLine returns a function that shows on a terminal how far a command is, and one that takes the line away. Elsewhere both
// do nothing.
func progressLine(out io.Writer) (show func(done, all int), clear func()) {
	if _, ok := terminal(out); !ok {
		return nil, func() {}
	}
	return func(done, all int) {
		const width = 24
		full := width * done / all
		fmt.Fprintf(out, "\r%s%s  %d of %d drills", strings.Repeat("█", full), strings.Repeat("░", width-full), done, all)
	}, func() { fmt.Fprint(out, "\r\x1b[K") }
}
