package s3fence

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	mrand "math/rand/v2"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/fencerow/fencerow"
	"github.com/fencerow/fencerow/fence"
	"github.com/fencerow/fencerow/fence/s3fence"
	"github.com/fencerow/fencerow/fencerowtest"
	"github.com/fencerow/fencerow/internal/integration/objectstore"
	"github.com/fencerow/fencerow/internal/integration/servers"
)

// Objects of 0 bytes and of 100 MB, on a real server, in bounded memory.
func TestSmallAndLargeObjects(t *testing.T) {
	url, bucket := servers.Bucket(t)
	store := open(t, objectstore.Client(url), bucket, nil)
	token := grant(5)
	claim(t, store, token)
	step := int64(0)
	for _, size := range []int64{0, 1, 8 << 20, 8<<20 + 1, 100 << 20} {
		step++
		sum := sha256.New()
		body := io.TeeReader(io.LimitReader(mrand.NewChaCha8([32]byte{byte(step)}), size), sum)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if err := store.Write(t.Context(), token.Stamp(step), report, body); err != nil {
			t.Fatalf("%d bytes: %v", size, err)
		}
		runtime.ReadMemStats(&after)
		if grown := int64(after.Sys) - int64(before.Sys); size > 50<<20 && grown > size/2 {
			t.Errorf("%d bytes have taken %d bytes of memory", size, grown)
		}
		object, err := store.Read(t.Context(), report)
		if err != nil || object.Size != size || object.SHA256 != hex.EncodeToString(sum.Sum(nil)) {
			t.Fatalf("%d bytes: the manifest says %+v, %v", size, object, err)
		}
		data, err := object.Open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if n, err := io.Copy(io.Discard, data); err != nil || n != size { // the digest is compared at the end
			t.Errorf("%d bytes: %d were read, %v", size, n, err)
		}
		_ = data.Close()
	}
}

// A body that fails halfway leaves nothing to be read, and no upload in pieces.
func TestBodyThatFails(t *testing.T) {
	double, client := double(t)
	store := open(t, client, "bucket", nil)
	token := grant(5)
	claim(t, store, token)
	aborted := false
	double.Disturb = func(r *http.Request) objectstore.Fault {
		aborted = aborted || r.Method == http.MethodDelete && r.URL.Query().Has("uploadId")
		return objectstore.Fault{}
	}
	boom := errors.New("boom")
	body := io.MultiReader(io.LimitReader(rand.Reader, 20<<20), failing{boom})
	if err := store.Write(t.Context(), token.Stamp(1), report, body); !errors.Is(err, boom) || !aborted {
		t.Errorf("%v, aborted: %v", err, aborted)
	}
	if object, err := store.Read(t.Context(), report); err != nil || object.Exists {
		t.Errorf("%+v, %v", object, err)
	}
	if err := write(t, store, token.Stamp(1), "the same stamp"); err != nil {
		t.Error(err)
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// Names of all kinds have keys of their own, which can be read back; none is the folder of another.
func TestKeysWithOddCharacters(t *testing.T) {
	url, bucket := servers.Bucket(t)
	store := open(t, objectstore.Client(url), bucket, nil)
	names := []fencerow.Resource{
		"a/b", "a/b/c", "a/b/", "a/.", "a/..", "a/../b", "a//", "a/ ", "a/+", "a/%", "a/%2F", "a/=", "a/-", "a/ü日本", `a/"'\<>|?*:&;#`, "a/b.json", "a/b=",
		fencerow.Resource("a/" + strings.Repeat("x", 253)), fencerow.Resource("a/" + strings.Repeat("ü", 126)), fencerow.Resource("a/" + strings.Repeat("/", 253)),
	}
	for i, name := range names {
		token := fencerowtest.Token("test:1", name, 5)
		claim(t, store, token)
		if err := write(t, store, token.Stamp(1), fmt.Sprint(i)); err != nil {
			t.Fatalf("%q: %v", name, err)
		}
	}
	found := map[fencerow.Resource]string{}
	for object, err := range store.List(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		found[object.Resource] = content(t, object)
	}
	if len(found) != len(names) {
		t.Errorf("%d of %d are listed", len(found), len(names))
	}
	for i, name := range names {
		if found[name] != fmt.Sprint(i) {
			t.Errorf("%q holds %q, want %d", name, found[name], i)
		}
	}
}

// More resources than a page of a list has.
func TestListOfManyPages(t *testing.T) {
	_, client := double(t)
	store := open(t, pages{client}, "bucket", nil)
	for i := range 25 {
		token := fencerowtest.Token("test:1", fencerow.Resource(fmt.Sprintf("r/%d", i)), 5)
		if _, err := store.Claim(t.Context(), token.Stamp(1), token.Resource()); err != nil {
			t.Fatal(err)
		}
	}
	n := 0
	for object, err := range store.List(t.Context()) {
		if err != nil || object.Mark.Number != 5 || object.Exists {
			t.Fatal(object, err)
		}
		n++
	}
	if n != 25 {
		t.Errorf("%d are listed", n)
	}
}

// pages has the store list 10 keys at a time.
type pages struct{ *s3.Client }

func (p pages) ListObjectsV2(ctx context.Context, in *s3.ListObjectsV2Input, opts ...func(*s3.Options)) (*s3.ListObjectsV2Output, error) {
	small := *in
	ten := int32(10)
	small.MaxKeys = &ten
	return p.Client.ListObjectsV2(ctx, &small, opts...)
}

// Collect takes what nobody can come to refer to, and neither the current object, nor the data of a write that is under way, nor a mark.
func TestCollect(t *testing.T) {
	double, client := double(t)
	store := open(t, client, "bucket", nil)
	token := grant(5)
	claim(t, store, token)
	for step := range int64(3) {
		if err := write(t, store, token.Stamp(step+1), fmt.Sprint("version ", step)); err != nil {
			t.Fatal(err)
		}
	}
	old, err := store.Read(t.Context(), report)
	if err != nil {
		t.Fatal(err)
	}
	// A write that has uploaded its data and is held before its swap.
	held, proceed, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	var once sync.Once
	double.Disturb = func(r *http.Request) (f objectstore.Fault) {
		if isSwap(r) {
			once.Do(func() { close(held); f.Hold = proceed })
		}
		return f
	}
	go func() {
		done <- store.Write(context.Background(), token.Stamp(4), report, strings.NewReader("version 3"))
	}()
	<-held
	if n, err := store.Collect(t.Context(), time.Hour); err != nil || n != 0 {
		t.Errorf("what is younger than an hour: %d were deleted, %v", n, err)
	}
	if n, err := store.Collect(t.Context(), 0); err != nil || n != 2 {
		t.Errorf("%d were deleted, want the 2 that were replaced; %v", n, err)
	}
	if text := stored(t, store); text != "version 2" {
		t.Errorf("the object is %q", text)
	}
	close(proceed)
	if err := <-done; err != nil || stored(t, store) != "version 3" {
		t.Errorf("the write that was under way: %v, %q", err, stored(t, store))
	}
	if n, err := store.Collect(t.Context(), 0); err != nil || n != 1 {
		t.Errorf("%d were deleted, want 1; %v", n, err)
	}
	if _, err := old.Open(t.Context()); !errors.Is(err, fencerow.ErrMissing) {
		t.Errorf("a reader of a version that was collected: %v", err)
	}

	// Deleting the object and collecting everything does not lower the mark.
	if err := store.Delete(t.Context(), token.Stamp(5), report); err != nil {
		t.Fatal(err)
	}
	if n, err := store.Collect(t.Context(), 0); err != nil || n != 1 {
		t.Errorf("%d were deleted, want 1; %v", n, err)
	}
	_, err = store.Claim(t.Context(), grant(4).Stamp(1), report)
	wantVerdict(t, err, fencerow.Stale, "a claim of an older holder after everything was collected")
}

// Writers, claims and collections all at once: what is current is always there.
func TestCollectBesideWriters(t *testing.T) {
	_, client := double(t)
	store := open(t, client, "bucket", nil)
	var writers, collector sync.WaitGroup
	stop := make(chan struct{})
	collector.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				if _, err := store.Collect(context.Background(), 0); err != nil {
					t.Error(err)
					return
				}
			}
		}
	})
	for number := range int64(6) {
		writers.Go(func() {
			time.Sleep(time.Duration(number) * 5 * time.Millisecond)
			token := grant(number + 1)
			if _, err := store.Claim(context.Background(), token.Stamp(1), report); err != nil {
				if !errors.Is(err, fencerow.ErrStale) {
					t.Error(err)
				}
				return
			}
			for step := range int64(20) {
				err := store.Write(context.Background(), token.Stamp(step+1), report, strings.NewReader(fmt.Sprintf("%d.%d", number+1, step+1)))
				if errors.Is(err, fencerow.ErrStale) {
					return
				}
				if err != nil {
					t.Errorf("holder %d: %v", number+1, err)
					return
				}
			}
		})
	}
	writers.Wait()
	close(stop)
	collector.Wait()
	object, err := store.Read(t.Context(), report)
	if err != nil {
		t.Fatal(err)
	}
	if text, want := content(t, object), fmt.Sprintf("%d.%d", object.Mark.Number, object.Mark.Step); object.Mark.Number != 6 || text != want {
		t.Errorf("the object is %q under %+v", text, object.Mark)
	}
}

// A late write under an older number lands where nobody reads, and a claim takes over what was written before it.
func TestKeyedReadersTakeTheHighest(t *testing.T) {
	double, client := double(t)
	keyed, err := s3fence.OpenKeyed(client, "bucket", nil)
	if err != nil {
		t.Fatal(err)
	}
	read := func() string {
		object, err := keyed.Read(t.Context(), report)
		if err != nil {
			t.Fatal(err)
		}
		return string(object.Data)
	}
	older, newer := grant(9), grant(10) // which compare the other way as text
	if _, err := keyed.Claim(t.Context(), older.Stamp(1), report); err != nil {
		t.Fatal(err)
	}
	if err := keyed.Write(t.Context(), older.Stamp(1), report, []byte("older")); err != nil {
		t.Fatal(err)
	}
	// The older holder is frozen between its check and its write.
	held, proceed, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	var once sync.Once
	double.Disturb = func(r *http.Request) (f objectstore.Fault) {
		if r.Method == http.MethodPut {
			once.Do(func() { close(held); f.Hold = proceed })
		}
		return f
	}
	go func() { done <- keyed.Write(context.Background(), older.Stamp(2), report, []byte("late")) }()
	<-held
	object, err := keyed.Claim(t.Context(), newer.Stamp(1), report)
	if err != nil || string(object.Data) != "older" {
		t.Fatalf("the claim returned %q, %v", object.Data, err)
	}
	if read() != "older" {
		t.Errorf("readers get %q", read())
	}
	close(proceed)
	err = <-done
	if !errors.Is(err, fencerow.ErrAmbiguous) || !errors.Is(err, fencerow.ErrStale) {
		t.Errorf("the late write is answered %v, want ambiguous and stale", err)
	}
	if read() != "older" {
		t.Errorf("readers get %q after the late write", read())
	}
	if err := keyed.Write(t.Context(), newer.Stamp(1), report, []byte("newer")); err != nil || read() != "newer" {
		t.Errorf("%v, %q", err, read())
	}
	wantVerdict(t, keyed.Write(t.Context(), older.Stamp(3), report, []byte("stale")), fencerow.Stale, "a stale write")
	if n, err := keyed.Collect(t.Context(), 0); err != nil || n == 0 || read() != "newer" {
		t.Errorf("%d were deleted, %v, readers get %q", n, err, read())
	}
	_, err = keyed.Claim(t.Context(), older.Stamp(1), report)
	wantVerdict(t, err, fencerow.Stale, "a claim of the older holder after the collection")
	if _, err := keyed.Claim(t.Context(), fencerowtest.Token("test:2", report, 11).Stamp(1), report); !errors.Is(err, fencerow.ErrMismatch) {
		t.Errorf("a claim of another source: %v", err)
	}
}

func TestOverrideOfAManifest(t *testing.T) {
	_, client := double(t)
	store := open(t, client, "bucket", &s3fence.Options{MaxJump: 1000})
	claim(t, store, grant(5))
	if err := write(t, store, grantOf(t, store).Stamp(1), "x"); err != nil {
		t.Fatal(err)
	}
	_, err := store.Claim(t.Context(), grant(1_790_000_000).Stamp(1), report)
	wantVerdict(t, err, fencerow.Implausible, "a poisoned number")
	claim(t, open(t, client, "bucket", nil), grant(1_790_000_000)) // a program without the bound
	o := fence.Override{Number: 5, By: "ann", Why: "a test rig"}
	wantError(t, store.Override(t.Context(), report, fence.Override{Number: 5}), "By", "an override by nobody")
	wantError(t, store.Override(t.Context(), "report/new", o), "source", "an override of nothing")
	if err := store.Override(t.Context(), report, o); err != nil {
		t.Fatal(err)
	}
	if text := claim(t, store, grant(6)); text != "x" {
		t.Errorf("the object is %q", text)
	}
	trail, err := store.Overrides(t.Context(), report)
	if err != nil || len(trail) != 1 || trail[0].OldNumber != 1_790_000_000 || trail[0].By != "ann" || trail[0].Number != 5 {
		t.Errorf("the trail is %+v, %v", trail, err)
	}
}

// grantOf returns the token that has claimed.
func grantOf(t *testing.T, store *s3fence.Store) fencerow.Token {
	t.Helper()
	object, err := store.Read(t.Context(), report)
	if err != nil {
		t.Fatal(err)
	}
	token, err := fencerow.ParseToken(fmt.Sprintf("v1:%d:%s:test%%3A1:%s", object.Mark.Number, object.Mark.GrantID, report))
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func TestBadInput(t *testing.T) {
	double, client := double(t)
	_, err := s3fence.Open(t.Context(), client, "nowhere", nil)
	wantError(t, err, "the bucket does not exist", "a missing bucket")
	_, err = s3fence.Open(t.Context(), client, "", nil)
	wantError(t, err, "no name", "no bucket")
	_, err = s3fence.Open(t.Context(), client, "bucket", &s3fence.Options{PartSize: 1})
	wantError(t, err, "part size", "small parts")
	store := open(t, client, "bucket", nil)
	for name, c := range map[string]struct {
		fault objectstore.Fault
		says  string
	}{
		"expired credentials": {objectstore.Fault{Status: 403, Code: "ExpiredToken"}, "the credentials have expired"},
		"no rights":           {objectstore.Fault{Status: 403, Code: "AccessDenied"}, "the credentials need"},
		"no conditions":       {objectstore.Fault{Status: 501, Code: "NotImplemented"}, "does not know conditional writes"},
	} {
		double.Disturb = func(*http.Request) objectstore.Fault { return c.fault }
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		_, err := store.Claim(ctx, grant(5).Stamp(1), report)
		wantError(t, err, c.says, name)
		cancel()
		double.Disturb = nil
	}
	if _, err := store.Read(t.Context(), report); !errors.Is(err, fencerow.ErrMissing) {
		t.Errorf("what nobody has claimed: %v", err)
	}
	// Something else lies where the manifest should be.
	bucket, key := "bucket", "fencerow/manifest/report%2F2026.json"
	for _, text := range []string{"no JSON", "{}", `{"version":1,"source":"s","number":"1e3","step":"0"}`, `{"version":2,"source":"s","number":"1","step":"0"}`} {
		if _, err := client.PutObject(t.Context(), &s3.PutObjectInput{Bucket: &bucket, Key: &key, Body: strings.NewReader(text)}); err != nil {
			t.Fatal(err)
		}
		_, err := store.Claim(t.Context(), grant(5).Stamp(1), report)
		wantVerdict(t, err, fencerow.Unfenced, text)
	}
}

// What an older holder has written while the newer one's claim was on its way, and was told that it is applied, is taken over.
func TestKeyedClaimTakesOverWhatCameInBetween(t *testing.T) {
	double, client := double(t)
	keyed, err := s3fence.OpenKeyed(client, "bucket", nil)
	if err != nil {
		t.Fatal(err)
	}
	older, newer := grant(33), grant(34)
	if _, err := keyed.Claim(t.Context(), older.Stamp(1), report); err != nil {
		t.Fatal(err)
	}
	if err := keyed.Write(t.Context(), older.Stamp(1), report, []byte("first")); err != nil {
		t.Fatal(err)
	}
	held, proceed := make(chan struct{}), make(chan struct{})
	var once sync.Once
	double.Disturb = func(r *http.Request) (f objectstore.Fault) {
		if r.Method == http.MethodPut && strings.Contains(r.URL.Path, "0034/") {
			once.Do(func() { close(held); f.Hold = proceed })
		}
		return f
	}
	type answer struct {
		object s3fence.KeyedObject
		err    error
	}
	claimed := make(chan answer, 1)
	go func() {
		object, err := keyed.Claim(context.Background(), newer.Stamp(1), report)
		claimed <- answer{object, err}
	}()
	<-held // the claim has read, and has not published yet
	if err := keyed.Write(t.Context(), older.Stamp(2), report, []byte("second")); err != nil {
		t.Fatalf("nothing has told the store of the newer holder yet: %v", err)
	}
	close(proceed)
	a := <-claimed
	if a.err != nil || string(a.object.Data) != "second" {
		t.Errorf("the claim returned %q, %v, and the older holder was told that %q is applied", a.object.Data, a.err, "second")
	}
	if object, err := keyed.Read(t.Context(), report); err != nil || string(object.Data) != "second" || object.Mark.Number != 34 {
		t.Errorf("readers get %q under %+v, %v", object.Data, object.Mark, err)
	}
}
