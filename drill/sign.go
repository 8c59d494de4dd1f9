package drill

import "html/template"

// drawn are the signs as shapes around the origin. Letters would not do: some phones draw them as coloured pictures.
var drawn = map[string]template.HTML{
	signNone:     `<circle class="fill" r="1.5"/>`,
	signGranted:  `<path class="fill" d="M-2.6-4L4 0L-2.6 4Z"/>`,
	signFrozen:   `<path class="line" d="M-2-3.6V3.6M2-3.6V3.6"/>`,
	signThawed:   `<path class="line" d="M3.4-1.8A3.9 3.9 0 1 0 3.9 1M3.9-4.6V-1.4H.7"/>`,
	signKilled:   `<path class="line" d="M0-4.6V4.6M-2.8-1.6H2.8"/>`,
	signApplied:  `<path class="line" d="M-3.6.2L-1.1 2.9L3.7-2.9"/>`,
	signRefused:  `<path class="line" d="M-3-3L3 3M3-3L-3 3"/>`,
	signAccepted: `<path class="line" d="M-1.9-4.2V1M1.9-4.2V1M-1.9 3.8V4.1M1.9 3.8V4.1"/>`,
}
