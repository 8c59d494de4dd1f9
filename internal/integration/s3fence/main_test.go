// Package s3fence tests the fences of object stores: faults that only a double makes, and traps on a real server.
package s3fence

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/fencerow/fencerow"
	"github.com/fencerow/fencerow/fence/s3fence"
	"github.com/fencerow/fencerow/fencerowtest"
	"github.com/fencerow/fencerow/internal/integration/objectstore"
	"github.com/fencerow/fencerow/internal/integration/servers"
)

func TestMain(m *testing.M) { servers.Main(m) }

const report = fencerow.Resource("report/2026")

func grant(number int64) fencerow.Token { return fencerowtest.Token("test:1", report, number) }

// double returns a double with the bucket "bucket" and a client for it.
func double(t *testing.T) (*objectstore.Store, *s3.Client) {
	t.Helper()
	store := new(objectstore.Store)
	store.CreateBucket("bucket")
	return store, objectstore.Client(store.Serve(t))
}

func open(t *testing.T, client s3fence.Client, bucket string, opts *s3fence.Options) *s3fence.Store {
	t.Helper()
	store, err := s3fence.Open(t.Context(), client, bucket, opts)
	if err != nil {
		t.Fatal(err)
	}
	return store
}

func write(t *testing.T, store *s3fence.Store, stamp fencerow.Stamp, text string) error {
	t.Helper()
	return store.Write(t.Context(), stamp, stamp.Token().Resource(), strings.NewReader(text))
}

func claim(t *testing.T, store *s3fence.Store, token fencerow.Token) string {
	t.Helper()
	object, err := store.Claim(t.Context(), token.Stamp(1), token.Resource())
	if err != nil {
		t.Fatal(err)
	}
	if !object.Exists {
		return ""
	}
	return content(t, object)
}

func content(t *testing.T, object *s3fence.Object) string {
	t.Helper()
	data, err := object.ReadAll(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// stored is what a reader gets.
func stored(t *testing.T, store *s3fence.Store) string {
	t.Helper()
	object, err := store.Read(t.Context(), report)
	if err != nil {
		t.Fatal(err)
	}
	return content(t, object)
}

func wantVerdict(t *testing.T, err error, want fencerow.Verdict, what string) {
	t.Helper()
	if got := fencerow.VerdictOf(err); got != want {
		t.Errorf("%s: %s (%v), want %s", what, got, err, want)
	}
}

func wantError(t *testing.T, err error, says, what string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), says) {
		t.Errorf("%s: %v, want an error that says %q", what, err, says)
	}
}

// isSwap reports whether a request writes a manifest.
func isSwap(r *http.Request) bool {
	return r.Method == http.MethodPut && strings.Contains(r.URL.Path, "/manifest/")
}

// The answer to a swap is lost, before or after the store has carried it out: the same stamp is sent again, and the write is made once.
func TestLostAnswerOfASwapIsResolved(t *testing.T) {
	for name, fault := range map[string]objectstore.Fault{"before": {LoseRequest: true}, "after": {LoseReply: true}, "an error": {Status: 500, Code: "InternalError"}} {
		t.Run(name, func(t *testing.T) {
			const rounds = 200
			double, client := double(t)
			store := open(t, client, "bucket", nil)
			token := grant(5)
			claim(t, store, token)
			var armed atomic.Bool
			var faults atomic.Int64
			double.Disturb = func(r *http.Request) objectstore.Fault {
				if isSwap(r) && armed.CompareAndSwap(true, false) {
					faults.Add(1)
					return fault
				}
				return objectstore.Fault{}
			}
			for round := range int64(rounds) {
				armed.Store(true)
				text := strings.Repeat("x", int(round))
				if err := write(t, store, token.Stamp(round+1), text); err != nil || stored(t, store) != text {
					t.Fatalf("round %d: %v", round, err)
				}
			}
			if n := faults.Load(); n != rounds {
				t.Errorf("%d faults in %d rounds", n, rounds)
			}
		})
	}
}

// A swap that was held on its way arrives after a newer holder has claimed: the condition refuses it.
func TestLateSwapChangesNothing(t *testing.T) {
	double, client := double(t)
	store := open(t, client, "bucket", nil)
	older, newer := grant(5), grant(6)
	claim(t, store, older)
	held, late := make(chan struct{}), make(chan struct{})
	var once atomic.Bool
	double.Disturb = func(r *http.Request) objectstore.Fault {
		if isSwap(r) && once.CompareAndSwap(false, true) {
			close(held)
			return objectstore.Fault{Hold: late}
		}
		return objectstore.Fault{}
	}
	ctx, giveUp := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- store.Write(ctx, older.Stamp(1), report, strings.NewReader("late")) }()
	<-held
	giveUp()
	wantVerdict(t, <-done, fencerow.Ambiguous, "a write that was given up")
	claim(t, store, newer)
	if err := write(t, store, newer.Stamp(1), "newer"); err != nil {
		t.Fatal(err)
	}
	close(late)
	wantVerdict(t, write(t, store, older.Stamp(1), "late"), fencerow.Stale, "the stamp in doubt")
	if text := stored(t, store); text != "newer" {
		t.Errorf("the object is %q", text)
	}
}

// What a store answers for a lost race differs, and none of it is said to be stale without having looked.
func TestAnswersForALostRace(t *testing.T) {
	for name, fault := range map[string]objectstore.Fault{
		"409": {Status: http.StatusConflict, Code: "ConditionalRequestConflict"},
		"412": {Status: http.StatusPreconditionFailed, Code: "PreconditionFailed"},
		"404": {Status: http.StatusNotFound, Code: "NoSuchKey"},
	} {
		t.Run(name, func(t *testing.T) {
			double, client := double(t)
			store := open(t, client, "bucket", nil)
			token := grant(5)
			claim(t, store, token)
			left := 3
			double.Disturb = func(r *http.Request) objectstore.Fault {
				if isSwap(r) && left > 0 {
					left--
					return fault
				}
				return objectstore.Fault{}
			}
			if err := write(t, store, token.Stamp(1), "x"); err != nil || stored(t, store) != "x" {
				t.Error(err)
			}
		})
	}
}

// A holder that sends the same stamp again is told that it was applied.
func TestRepeatedStamps(t *testing.T) {
	_, client := double(t)
	store := open(t, client, "bucket", nil)
	token := grant(5)
	claim(t, store, token)
	if err := write(t, store, token.Stamp(2), "two"); err != nil {
		t.Fatal(err)
	}
	wantVerdict(t, write(t, store, token.Stamp(2), "again"), fencerow.Duplicate, "the same stamp")
	wantVerdict(t, write(t, store, token.Stamp(1), "earlier"), fencerow.OutOfOrder, "an earlier step")
	if text := stored(t, store); text != "two" {
		t.Errorf("the object is %q", text)
	}
}

// A store that ignores conditions is refused, and so is one that lets several writers win.
func TestUnsafeStoresAreRefused(t *testing.T) {
	double, client := double(t)
	double.IgnoreConditions = true
	if _, err := s3fence.Open(t.Context(), client, "bucket", nil); !errors.Is(err, s3fence.ErrUnsafeStore) {
		t.Errorf("Open of a store that ignores conditions: %v", err)
	}
	if err := s3fence.Probe(t.Context(), "bucket", "probe", 1, 2, client); !errors.Is(err, s3fence.ErrUnsafeStore) {
		t.Errorf("Probe of a store that ignores conditions: %v", err)
	}
	if keys := double.Keys("bucket"); len(keys) != 0 {
		t.Errorf("it has left %q behind", keys)
	}
	// A store that checks a condition and then writes: what the second of two writers is told was true when it was checked.
	racy, err := newRacyStore(t)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s3fence.Open(t.Context(), racy, "bucket", nil); err != nil {
		t.Errorf("Open, which does not race: %v", err)
	}
	if err := s3fence.Probe(t.Context(), "bucket", "probe", 5, 8, racy); !errors.Is(err, s3fence.ErrUnsafeStore) {
		t.Errorf("Probe of a store that checks and then writes: %v", err)
	}
	if err := s3fence.Probe(t.Context(), "bucket", "probe", 0, 1); err == nil {
		t.Error("Probe without rounds")
	}
}

// racyStore is a double whose conditions are checked before the write, and not with it.
type racyStore struct {
	*s3.Client
	double *objectstore.Store
	meet   chan struct{}
}

func newRacyStore(t *testing.T) (*racyStore, error) {
	store, client := double(t)
	return &racyStore{Client: client, double: store, meet: make(chan struct{}, 1)}, nil
}

func (r *racyStore) PutObject(ctx context.Context, in *s3.PutObjectInput, opts ...func(*s3.Options)) (*s3.PutObjectOutput, error) {
	if in.IfNoneMatch == nil && in.IfMatch == nil {
		return r.Client.PutObject(ctx, in, opts...)
	}
	head, err := r.Client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: in.Bucket, Key: in.Key})
	exists := err == nil
	holds := in.IfNoneMatch != nil && !exists || in.IfMatch != nil && exists && *head.ETag == *in.IfMatch
	if !holds {
		return r.Client.PutObject(ctx, in, opts...) // to be refused by the double
	}
	plain := *in
	plain.IfMatch, plain.IfNoneMatch = nil, nil
	return r.Client.PutObject(ctx, &plain, opts...)
}

// The real server keeps its conditions when writers meet.
func TestRealStoreIsSafe(t *testing.T) {
	url, bucket := servers.Bucket(t)
	if err := s3fence.Probe(t.Context(), bucket, "probe", 20, 8, objectstore.Client(url), objectstore.Client(url)); err != nil {
		t.Error(err)
	}
}

// An ETag is a digest of the body: with the token in the metadata, a claim that writes the same body again leaves the ETag as it was, and
// the older holder's If-Match still holds.
func TestTrapETagIsNoVersion(t *testing.T) {
	doubleURL := func(t *testing.T) (string, string) {
		store := new(objectstore.Store)
		store.CreateBucket("bucket")
		return store.Serve(t), "bucket"
	}
	for name, start := range map[string]func(*testing.T) (string, string){"double": doubleURL, "versitygw": func(t *testing.T) (string, string) { return servers.Bucket(t) }} {
		t.Run(name, func(t *testing.T) {
			url, bucket := start(t)
			client := objectstore.Client(url)
			key := "naive"
			put := func(token, body string, match *string) (*string, error) {
				out, err := client.PutObject(t.Context(), &s3.PutObjectInput{Bucket: &bucket, Key: &key, Body: bytes.NewReader([]byte(body)), Metadata: map[string]string{"token": token}, IfMatch: match})
				if err != nil {
					return nil, err
				}
				return out.ETag, nil
			}
			seenByOlder, err := put("33", "balance 1000", nil)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := put("34", "balance 1000", seenByOlder); err != nil { // the newer holder's claim
				t.Fatal(err)
			}
			if _, err := put("33", "balance 0", seenByOlder); err != nil {
				t.Errorf("the trap is gone: %v", err)
			}

			store := open(t, client, bucket, nil)
			older, newer := grant(33), grant(34)
			claim(t, store, older)
			if err := write(t, store, older.Stamp(1), "balance 1000"); err != nil {
				t.Fatal(err)
			}
			claim(t, store, newer)
			wantVerdict(t, write(t, store, older.Stamp(2), "balance 0"), fencerow.Stale, "the older holder's write")
			if text := stored(t, store); text != "balance 1000" {
				t.Errorf("the object is %q", text)
			}
		})
	}
}

// An SDK that sends a conditional write again by itself reports the refusal of its own success.
func TestTrapRetriesOfTheSDK(t *testing.T) {
	double, client := double(t)
	store := open(t, client, "bucket", nil)
	token := grant(5)
	claim(t, store, token)
	lose := func(match func(*http.Request) bool) {
		var once atomic.Bool
		double.Disturb = func(r *http.Request) objectstore.Fault {
			return objectstore.Fault{LoseReply: match(r) && once.CompareAndSwap(false, true)}
		}
	}
	lose(func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/naive") })
	star, bucket, key := "*", "bucket", "naive"
	_, err := client.PutObject(t.Context(), &s3.PutObjectInput{Bucket: &bucket, Key: &key, Body: strings.NewReader("x"), IfNoneMatch: &star})
	wantError(t, err, "PreconditionFailed", "a conditional write whose answer was lost once")
	lose(isSwap)
	if err := write(t, store, token.Stamp(1), "x"); err != nil {
		t.Errorf("ours: %v", err)
	}
}
