package httpfence

import (
	"bytes"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"strconv"
	"strings"

	"github.com/fencerow/fencerow"
)

// ProblemPrefix is the beginning of the types of problems. What follows is the verdict, such as urn:fencerow:problem:stale, or "malformed".
const ProblemPrefix = "urn:fencerow:problem:"

const malformed = "malformed"

// ResultHeader is set on an answer that is a success without having written: "duplicate".
const ResultHeader = "Fence-Result"

// problem is the document of a refusal. Numbers are text, because readers of JSON round those above 2^53.
type problem struct {
	Type      string `json:"type"`
	Title     string `json:"title"`
	Status    int    `json:"status"`
	Detail    string `json:"detail,omitempty"`
	Resource  string `json:"resource,omitempty"`
	Presented string `json:"presented,omitempty"`
	Stored    string `json:"stored,omitempty"`
}

// statuses are the answers by verdict. Each has an error that a client gets back.
var statuses = map[fencerow.Verdict]struct {
	status int
	title  string
	err    error
}{
	fencerow.Stale:          {http.StatusPreconditionFailed, "the token is stale", fencerow.ErrStale},
	fencerow.TokenReused:    {http.StatusConflict, "the token's number was issued twice", fencerow.ErrTokenReused},
	fencerow.SourceMismatch: {http.StatusConflict, "the token belongs elsewhere", fencerow.ErrMismatch},
	fencerow.Implausible:    {http.StatusConflict, "the token's number is implausible", fencerow.ErrImplausible},
	fencerow.OutOfOrder:     {http.StatusConflict, "a later step was already applied", fencerow.ErrOutOfOrder},
	fencerow.Unclaimed:      {http.StatusConflict, "the grant has not claimed the resource", fencerow.ErrUnclaimed},
	fencerow.Conflict:       {http.StatusConflict, "a conflict in the store, send the same stamp again", fencerow.ErrConflict},
	fencerow.Missing:        {http.StatusNotFound, "the target does not exist", fencerow.ErrMissing},
	fencerow.Rejected:       {http.StatusUnprocessableEntity, "a condition of the request does not hold", fencerow.ErrRejected},
	fencerow.Unfenced:       {http.StatusPreconditionRequired, "there is no token to compare with", fencerow.ErrUnfenced},
	fencerow.Ambiguous:      {http.StatusServiceUnavailable, "the outcome is unknown, send the same stamp again", fencerow.ErrAmbiguous},
}

// WriteError writes the answer for an error of a fence: a problem document, or for a duplicate an empty success. An error that is no
// answer of a fence becomes 500 without its text, which may not be meant for the client; but a network error or one of a time that has run
// out is answered as an unknown outcome, because a store that is not reached admits nothing. It must be called before anything else is
// written.
func WriteError(w http.ResponseWriter, err error) {
	verdict := fencerow.VerdictOf(err)
	if verdict == fencerow.Applied {
		return
	}
	if verdict == fencerow.Duplicate {
		w.Header().Set(ResultHeader, string(fencerow.Duplicate))
		w.WriteHeader(http.StatusOK)
		return
	}
	if verdict == fencerow.Failed && unreachable(err) {
		verdict = fencerow.Ambiguous
	}
	p := problem{Type: "about:blank", Title: http.StatusText(http.StatusInternalServerError), Status: http.StatusInternalServerError}
	if verdict == fencerow.Failed && errors.Is(err, fencerow.ErrInvalidToken) {
		p = problem{Type: ProblemPrefix + malformed, Title: "the header " + Header + " is malformed", Status: http.StatusBadRequest, Detail: err.Error()}
	} else if s, ok := statuses[verdict]; ok {
		p = problem{Type: ProblemPrefix + string(verdict), Title: s.title, Status: s.status}
	}
	var stale *fencerow.StaleError
	if errors.As(err, &stale) {
		p.Resource, p.Presented, p.Stored = string(stale.Resource), strconv.FormatInt(stale.Presented, 10), strconv.FormatInt(stale.Stored, 10)
	}
	if p.Status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	if p.Status == http.StatusPreconditionRequired && errors.Is(err, fencerow.ErrNoToken) {
		p.Detail = "send the stamp of the lease in the header " + Header
	}
	body, marshalErr := json.Marshal(p)
	if marshalErr != nil { // texts and an int
		body = nil
	}
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(p.Status)
	_, _ = w.Write(body)
}

// unreachable reports whether err is one of a network or of a deadline, which is a net.Error too.
func unreachable(err error) bool {
	var network net.Error
	return errors.As(err, &network) || errors.Is(err, driver.ErrBadConn)
}

// maxProblem bounds what is read of an answer's body, in bytes.
const maxProblem = 64 << 10

// Err returns what an answer of a service with this package says: nil for a success, [fencerow.ErrDuplicate] for one that was applied
// before, the error of the fence for a problem of ours, and [fencerow.ErrAmbiguous] for a problem that breaks off, and for 502, 503 and 504
// of whoever it is, because a gateway may have lost the service's answer. Any other answer is nil: it is not about the stamp. The body is
// left to be read and closed.
func Err(response *http.Response) error {
	if response.Header.Get(ResultHeader) == string(fencerow.Duplicate) {
		return fmt.Errorf("%w: says the service", fencerow.ErrDuplicate)
	}
	kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	if kind == "application/problem+json" && response.StatusCode >= 400 {
		body, err := io.ReadAll(io.LimitReader(response.Body, maxProblem))
		if err != nil {
			return fmt.Errorf("%w: the answer %s breaks off: %w", fencerow.ErrAmbiguous, response.Status, err)
		}
		response.Body = readAgain{io.MultiReader(bytes.NewReader(body), response.Body), response.Body}
		var p problem
		if json.Unmarshal(body, &p) == nil {
			if found := p.err(); found != nil {
				return found
			}
		}
	}
	switch response.StatusCode {
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return fmt.Errorf("%w: the service, or a gateway before it, answers %s", fencerow.ErrAmbiguous, response.Status)
	}
	return nil
}

// readAgain is a body of which the beginning was read.
type readAgain struct {
	io.Reader
	io.Closer
}

// err returns the error that a problem of ours stands for, or nil.
func (p problem) err() error {
	name, ours := strings.CutPrefix(p.Type, ProblemPrefix)
	if !ours {
		return nil
	}
	if name == malformed {
		return fmt.Errorf("%w: says the service: %s", fencerow.ErrInvalidToken, p.Detail)
	}
	presented, presentedErr := strconv.ParseInt(p.Presented, 10, 64)
	stored, storedErr := strconv.ParseInt(p.Stored, 10, 64)
	if fencerow.Verdict(name) == fencerow.Stale && errors.Join(presentedErr, storedErr) == nil {
		return &fencerow.StaleError{Resource: fencerow.Resource(p.Resource), Presented: presented, Stored: stored}
	}
	if s, ok := statuses[fencerow.Verdict(name)]; ok {
		return fmt.Errorf("%w: says the service: %s", s.err, p.Title)
	}
	return nil
}
