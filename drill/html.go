package drill

import (
	"embed"
	"html/template"
	"io"
	"time"
)

//go:embed page
var pageFiles embed.FS

var page = template.Must(template.New("").Funcs(template.FuncMap{
	"chart":    func(r *Run) chart { return newChart(r, wide) },
	"narrow":   func(r *Run) chart { return newChart(r, narrow) },
	"anchor":   func(r *Run) string { return string(r.Order) + "-" + string(r.Guard) },
	"class":    func(r *Run) string { return classes[r.tone()] },
	"short":    func(r *Run) string { return asLetters(r.short()) },
	"says":     func(r *Run) string { return r.explain() },
	"inTheEnd": func(r *Run) string { return r.inTheEnd() },
	"letters":  asLetters,
	"legend":   func() []legendEntry { return legend },
	"style": func() (template.CSS, error) {
		text, err := pageFiles.ReadFile("page/chart.css")
		return template.CSS(text), err
	},
}).ParseFS(pageFiles, "page/*.tmpl"))

// asLetters keeps a browser from drawing the signs in a text as coloured pictures.
func asLetters(text string) string {
	const textForm = "\uFE0E"
	var out []rune
	for _, c := range text {
		out = append(out, c)
		if s := string(c); s == signApplied || s == signRefused {
			out = append(out, []rune(textForm)...)
		}
	}
	return string(out)
}

// pageData is what the page sees.
type pageData struct {
	*Report
	Headline, Class string
	Story           string
	TTL             time.Duration
	Seconds         float64
	Guards          []string
	Orders          []pageOrder
	First, Rest     []*Run // with the fence, and for contrast
}

// pageOrder is a line of the table.
type pageOrder struct {
	Title string
	Runs  []*Run
}

// WriteHTML writes the report as one HTML file that needs nothing else: no script, no font, no image from elsewhere.
func (r *Report) WriteHTML(w io.Writer) error {
	data := pageData{
		Report: r, Headline: r.headline(), Class: classes[r.tone()], Story: story,
		TTL: time.Duration(r.TTLMS) * time.Millisecond, Seconds: seconds(r.TookMS),
		First: r.fenced(), Rest: r.contrast(),
	}
	for _, guard := range r.guards() {
		data.Guards = append(data.Guards, guard.Title())
	}
	for _, order := range Orders {
		line := pageOrder{Title: order.Title()}
		for _, guard := range r.guards() {
			if run := r.run(order, guard); run != nil {
				line.Runs = append(line.Runs, run)
			}
		}
		data.Orders = append(data.Orders, line)
	}
	return page.ExecuteTemplate(w, "report.html.tmpl", data)
}
