package drill

// Order is the sequence in which the workers wake and write.
type Order string

// The orders.
const (
	// WritesFirst: B is granted, claims and writes; then A wakes.
	WritesFirst Order = "b-writes-first"
	// WakesBetween: A wakes after B has claimed and read, before B writes.
	WakesBetween Order = "a-wakes-between"
	// CrashesAfterClaim: B is killed after its claim; A wakes; C takes over when B's lease has ended.
	CrashesAfterClaim Order = "b-crashes-after-claim"
)

// Orders are all orders.
var Orders = []Order{WritesFirst, WakesBetween, CrashesAfterClaim}

// Title says the order in a sentence's part.
func (o Order) Title() string {
	switch o {
	case WritesFirst:
		return "B writes before A wakes"
	case WakesBetween:
		return "A wakes before B writes"
	case CrashesAfterClaim:
		return "B crashes after its claim"
	}
	return string(o)
}

// Guard is what keeps a worker from a stale write.
type Guard string

// The guards.
const (
	// Fence: the row's own fence decides, inside the write.
	Fence Guard = "fence"
	// NoFence: nothing does.
	NoFence Guard = "no-fence"
	// ClientCheck: the worker looks at its own lease before it writes.
	ClientCheck Guard = "client-check"
)

// Guards are all guards.
var Guards = []Guard{Fence, NoFence, ClientCheck}

// Title names the guard for people.
func (g Guard) Title() string {
	switch g {
	case Fence:
		return "fence"
	case NoFence:
		return "no fence"
	case ClientCheck:
		return "client-side check"
	}
	return string(g)
}

// The account that the workers debit once.
const (
	account        = "acct_fence_probe"
	initialBalance = 1000
	debitAmount    = 100
)
