package cli

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"golang.org/x/term"

	"github.com/fencerow/fencerow/drill"
)

// styleOf chooses colours and tables for a terminal, and plain ASCII for everything else.
func styleOf(out io.Writer) drill.Style {
	file, ok := terminal(out)
	if !ok {
		return drill.Style{ASCII: true}
	}
	style := drill.Style{
		Color:  os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb",
		ASCII:  asciiOnly(os.Getenv),
		Repeat: true,
		Table:  drawTable,
	}
	if width, _, err := term.GetSize(int(file.Fd())); err == nil {
		style.Width = width
	}
	if style.ASCII {
		style.Table = nil
	}
	return style
}

// asciiOnly tells whether a terminal says that it shows nothing else. A locale that is not set says nothing.
func asciiOnly(getenv func(string) string) bool {
	locale := cmp.Or(getenv("LC_ALL"), getenv("LC_CTYPE"), getenv("LANG"))
	utf8 := strings.Contains(strings.ReplaceAll(strings.ToLower(locale), "-", ""), "utf8")
	return getenv("TERM") == "dumb" || locale != "" && !utf8
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
