package drill

import (
	"embed"
	"errors"
	"html/template"
	"io"
)

//go:embed page
var pageFiles embed.FS

var page = template.Must(template.New("").Funcs(template.FuncMap{
	"chart": func(r Run) chart { return newChart(&r) },
	"class": func(r Run) string { return classes[r.tone()] },
	"words": func(r Run) string { return r.inWords() },
	"says":  func(r Run) string { return r.explain() },
	"guard": func(g Guard) string { return g.Title() },
	"style": func() (template.CSS, error) {
		text, err := pageFiles.ReadFile("page/chart.css")
		return template.CSS(text), err
	},
}).ParseFS(pageFiles, "page/*.tmpl"))

// pageData is what the page sees.
type pageData struct {
	Report
	Guards []Guard
	Orders [][]Run // the runs of each order, in the order of the guards
	First  []Run   // with the fence
	Rest   []Run   // for contrast
}

// WriteHTML writes the report as one HTML file that needs nothing else: no script, no font, no image from elsewhere.
func (r *Report) WriteHTML(w io.Writer) error {
	data := pageData{Report: *r}
	for _, guard := range Guards {
		if r.run(Orders[0], guard) != nil {
			data.Guards = append(data.Guards, guard)
		}
	}
	for _, order := range Orders {
		var runs []Run
		for _, guard := range data.Guards {
			if run := r.run(order, guard); run != nil {
				runs = append(runs, *run)
				if guard == Fence {
					data.First = append(data.First, *run)
				} else {
					data.Rest = append(data.Rest, *run)
				}
			}
		}
		data.Orders = append(data.Orders, runs)
	}
	return page.ExecuteTemplate(w, "report.html.tmpl", data)
}

// WriteSVG writes the timeline of the order in which A wakes between B's read and write, with the fence, as a picture of its own.
func (r *Report) WriteSVG(w io.Writer) error {
	run := r.run(WakesBetween, Fence)
	if run == nil {
		return errors.New("drill: the picture is of a run with the fence, which was not drilled")
	}
	return page.ExecuteTemplate(w, "picture.svg.tmpl", *run)
}
