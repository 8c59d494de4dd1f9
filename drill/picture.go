package drill

import (
	"errors"
	"io"
	"strings"
)

// picture is a run's timeline with a title above and the outcome below, to stand alone.
type picture struct {
	Chart         chart
	Width, Height int
	Bottom        int // where the outcome begins
	Outcome       []string
}

// Distances in a picture, in pixels.
const (
	pictureTop    = 44 // for the title
	pictureMargin = 16
	pictureLine   = 19
	letterWidth   = 7 // of the text, on average and a little more
)

// WriteSVG writes the timeline of the order in which A wakes between B's read and write, with the fence, as a picture of its own.
func (r *Report) WriteSVG(w io.Writer) error {
	run := r.run(WakesBetween, Fence)
	if run == nil {
		return errors.New("drill: the picture is of a run with the fence, which was not drilled")
	}
	p := picture{Chart: newChart(run, wide)}
	p.Width = p.Chart.Width + pictureMargin
	p.Outcome = fill(strings.Fields("The database in the end: "+run.inTheEnd()+". "+run.explain()), " ", (p.Width-2*pictureMargin)/letterWidth)
	p.Bottom = pictureTop + p.Chart.Height + pictureLine
	p.Height = p.Bottom + len(p.Outcome)*pictureLine
	return page.ExecuteTemplate(w, "picture.svg.tmpl", p)
}

// Line returns the height of a line of the outcome.
func (p picture) Line(i int) int { return p.Bottom + i*pictureLine }
