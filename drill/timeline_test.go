package drill

import (
	"bytes"
	"strings"
	"testing"
)

// crashRun is the run with the most lanes.
func crashRun() Run {
	r := safeRun()
	r.Order, r.Title, r.Row.Token = CrashesAfterClaim, CrashesAfterClaim.Title(), 3
	r.Events = r.Events[:len(r.Events)-2]
	r.Events = append(r.Events, []Event{
		{AtMS: 1120, Worker: "B", Kind: Killed, Token: 2},
		{AtMS: 2100, Worker: "B", Kind: LeaseEnded, Token: 2},
		{AtMS: 2110, Worker: "C", Kind: Granted, Token: 3},
		{AtMS: 2120, Worker: "C", Kind: Claimed, Token: 3, Detail: "claims, reads 1000"},
		{AtMS: 2130, Worker: "C", Kind: Wrote, Token: 3, Verdict: "applied"},
		{AtMS: 2140, Worker: "C", Kind: Released, Token: 3},
	}...)
	judge(&r)
	return r
}

func drawn80(t *testing.T, r *Run, style Style) []string {
	t.Helper()
	p := &printer{style: style}
	r.writeTimeline(p)
	var out bytes.Buffer
	if err := p.print(&out); err != nil {
		t.Fatal(err)
	}
	return strings.Split(out.String(), "\n")
}

func TestTimelineFitsTheTerminal(t *testing.T) {
	long := safeRun()
	long.Events[1].Detail = strings.Repeat("a long detail ", 20)
	for name, r := range map[string]Run{"two lanes": safeRun(), "three lanes": crashRun(), "long detail": long} {
		for _, width := range []int{60, 80, 100, 120, 200} {
			for _, line := range drawn80(t, &r, Style{Width: width, Color: true, Verbose: true}) {
				if n := columns(line); n > width {
					t.Errorf("%s at %d: a line has %d columns: %s", name, width, n, line)
				}
			}
		}
	}
}

// At 80 columns nothing that a worker says is cut off, not even with three lanes.
func TestNothingIsCutAt80Columns(t *testing.T) {
	for _, r := range []Run{safeRun(), crashRun()} {
		for _, line := range drawn80(t, &r, Style{Width: 80}) {
			if strings.Contains(line, cut) {
				t.Error(line)
			}
		}
	}
}

func TestTimelineShowsSpans(t *testing.T) {
	r := crashRun()
	lines := drawn80(t, &r, Style{Width: 80})
	find := func(part string) string {
		for _, line := range lines {
			if strings.Contains(line, part) {
				return line
			}
		}
		t.Fatalf("no line says %q:\n%s", part, strings.Join(lines, "\n"))
		return ""
	}
	lane := func(line string, n int) string {
		const width = (80 - headWidth) / 3
		cells := []rune(pad(line, 80))
		return strings.TrimSpace(string(cells[headWidth+n*width : headWidth+(n+1)*width]))
	}
	if got := lane(find("granted token 2"), 0); got != barStray {
		t.Errorf("A is frozen past its lease while B is granted, its lane shows %q", got)
	}
	if got := lane(find("write as 1"), 1); got != barLease {
		t.Errorf("the killed B still has its lease while A writes, its lane shows %q", got)
	}
	if got := lane(find("granted token 3"), 1); got != "" {
		t.Errorf("B is gone, its lane shows %q", got)
	}
	if got := lane(find("1.01 s"), 0); got != barFrozen+" 1.01 s" {
		t.Errorf("A is frozen under its lease, its lane shows %q", got)
	}
	if !strings.Contains(find("write as 1"), signRefused+" write as 1: REFUSED") {
		t.Error("the refused write has another sign")
	}
}

func TestDuring(t *testing.T) {
	r := crashRun()
	for name, c := range map[string]struct {
		got  []bool
		want string
	}{
		"A frozen": {r.frozen("A"), "...#####........."},
		"A leased": {r.leased("A"), "####............."},
		"B leased": {r.leased("B"), ".....#######....."},
		"C leased": {r.leased("C"), ".............###."},
	} {
		var got strings.Builder
		for _, under := range c.got {
			got.WriteByte(map[bool]byte{true: '#', false: '.'}[under])
		}
		if got.String() != c.want {
			t.Errorf("%s: %s, want %s", name, got.String(), c.want)
		}
	}
}

// In a picture no step overlaps another, and all stand within its bounds.
func TestChartLayout(t *testing.T) {
	const letter = 8 // pixels of the widest letters
	for name, r := range map[string]Run{"two lanes": safeRun(), "three lanes": crashRun()} {
		for form, l := range map[string]layout{"wide": wide, "narrow": narrow} {
			c := newChart(&r, l)
			if len(c.Steps) != len(r.Events) || len(c.Lanes) != len(r.lanes()) {
				t.Errorf("%s, %s: %d steps in %d lanes", name, form, len(c.Steps), len(c.Lanes))
			}
			below := 36
			for _, s := range c.Steps {
				if s.Y < below+18 {
					t.Errorf("%s, %s: step %d at %d touches what is above it, which ends at %d", name, form, s.Number, s.Y, below)
				}
				below = max(s.Y, s.FactY)
				if end := s.Words + letter*len(s.Label); end > c.Width {
					t.Errorf("%s, %s: step %d may end at %d, the picture is %d wide", name, form, s.Number, end, c.Width)
				}
				if !c.Narrow && s.Words+letter*len(s.Label) > s.X+l.lane {
					t.Errorf("%s, %s: step %d may run into the next lane: %s", name, form, s.Number, s.Label)
				}
				if s.Mark == "" {
					t.Errorf("%s, %s: step %d has no sign", name, form, s.Number)
				}
			}
			if below+8 > c.Height {
				t.Errorf("%s, %s: the last step ends at %d, the picture at %d", name, form, below, c.Height)
			}
			for _, b := range c.Bars {
				if b.Height <= 0 || b.Y+b.Height > c.Height {
					t.Errorf("%s, %s: bar %+v in a picture of height %d", name, form, b, c.Height)
				}
			}
		}
	}
}

// The narrow form is read on a phone of 390 pixels without scrolling sideways, and without shrinking the letters by much.
func TestNarrowChartFitsAPhone(t *testing.T) {
	r := crashRun()
	if c := newChart(&r, narrow); c.Width > 380 {
		t.Errorf("it is %d wide", c.Width)
	}
}

func TestExplanationNamesTheSteps(t *testing.T) {
	r := safeRun()
	if got, want := r.explain(), "B's claim (step 7) had raised the row's mark to 2, so A's write with token 1 (step 10) was refused."; !strings.Contains(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	r.Guard, r.Row = ClientCheck, Row{Balance: 800, Debits: 2}
	r.Events[1].Kind, r.Events[9].Verdict = Checked, "applied"
	judge(&r)
	if got, want := r.explain(), "token of A's write (step 10), and its check of its lease (step 2)"; !strings.Contains(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	r.Row = Row{Balance: 900, Debits: 1}
	judge(&r)
	if got := r.explain(); !strings.Contains(got, "No damage this time") {
		t.Errorf("%q", got)
	}
}
