package drill

import "html/template"

// legendEntry explains a sign or a bar on the page.
type legendEntry struct {
	Bar   string        // the class of a bar,
	Mark  template.HTML // or a drawn sign
	Class string
	Text  string
}

var legend = []legendEntry{
	{Bar: "lease", Text: "lease, as the lock service grants it"},
	{Bar: "frozen", Text: "frozen"},
	{Mark: drawn[signGranted], Class: "plain", Text: "granted"},
	{Mark: drawn[signApplied], Class: "good", Text: "write applied"},
	{Mark: drawn[signRefused], Class: "barred", Text: "write refused"},
	{Mark: drawn[signAccepted], Class: "bad", Text: "stale write accepted"},
	{Mark: drawn[signKilled], Class: "barred", Text: "killed"},
}
