// Package objectstore is an object store in memory that speaks the part of S3's protocol that the tests need, with the answers of AWS: its
// conditions are atomic, and a reply can be lost, a request held back and a condition ignored at will. Those faults are why it exists:
// no real server makes them on demand.
package objectstore

import (
	"bytes"
	"crypto/md5"
	"encoding/hex"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Fault is what happens to one request.
type Fault struct {
	Hold        <-chan struct{} // the request is delivered when this is closed
	LoseRequest bool            // the connection ends before the request is carried out
	LoseReply   bool            // it ends after that
	Status      int             // what is answered instead of carrying it out, with Code
	Code        string
}

// Store is the server. The zero value has no bucket.
type Store struct {
	// Disturb chooses the fault of each request. It may be nil.
	Disturb func(*http.Request) Fault
	// IgnoreConditions makes a store that takes conditional headers for decoration.
	IgnoreConditions bool

	mu      sync.Mutex
	buckets map[string]map[string]*object
	uploads map[string]map[int][]byte
	serial  int
}

type object struct {
	body     []byte
	etag     string
	modified time.Time
	meta     http.Header
}

// CreateBucket makes an empty bucket.
func (s *Store) CreateBucket(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.buckets == nil {
		s.buckets = map[string]map[string]*object{}
		s.uploads = map[string]map[int][]byte{}
	}
	s.buckets[name] = map[string]*object{}
}

// Keys returns the keys of a bucket in order.
func (s *Store) Keys(bucket string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sorted(bucket)
}

func (s *Store) sorted(bucket string) []string {
	var keys []string
	for key := range s.buckets[bucket] {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// ServeHTTP implements http.Handler.
func (s *Store) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var fault Fault
	if s.Disturb != nil {
		fault = s.Disturb(r)
	}
	body, err := readBody(r)
	switch {
	case err != nil:
		refuse(w, http.StatusBadRequest, "IncompleteBody")
		return
	case fault.LoseRequest:
		panic(http.ErrAbortHandler)
	case fault.Status != 0:
		refuse(w, fault.Status, fault.Code)
		return
	}
	if fault.Hold != nil {
		<-fault.Hold // the client may have given up by then, and the request is on its way all the same
	}
	answer := s.carryOut(r, body)
	if fault.LoseReply {
		panic(http.ErrAbortHandler)
	}
	answer(w)
}

type reply func(http.ResponseWriter)

func refuse(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	fmt.Fprintf(w, "<Error><Code>%s</Code><Message>%s</Message></Error>", code, code)
}

func refusal(status int, code string) reply {
	return func(w http.ResponseWriter) { refuse(w, status, code) }
}

func document(v any) reply {
	return func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", "application/xml")
		_ = xml.NewEncoder(w).Encode(v)
	}
}

func (s *Store) carryOut(r *http.Request, body []byte) reply {
	bucket, key, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	query := r.URL.Query()
	s.mu.Lock()
	defer s.mu.Unlock()
	objects, ok := s.buckets[bucket]
	if !ok {
		return refusal(http.StatusNotFound, "NoSuchBucket")
	}
	switch {
	case key == "" && r.Method == http.MethodHead:
		return func(http.ResponseWriter) {}
	case key == "" && r.Method == http.MethodGet:
		return s.list(bucket, r)
	case query.Has("uploads"):
		s.serial++
		id := strconv.Itoa(s.serial)
		s.uploads[id] = map[int][]byte{}
		return document(struct {
			XMLName     xml.Name `xml:"InitiateMultipartUploadResult"`
			Bucket, Key string
			UploadID    string `xml:"UploadId"`
		}{Bucket: bucket, Key: key, UploadID: id})
	case query.Has("uploadId"):
		return s.multipart(objects, key, r, body)
	}
	switch r.Method {
	case http.MethodPut:
		if refused := s.condition(objects[key], r); refused != nil {
			return refused
		}
		return put(objects, key, body, digest(body), r.Header)
	case http.MethodGet, http.MethodHead:
		found := objects[key]
		if found == nil {
			return refusal(http.StatusNotFound, "NoSuchKey")
		}
		return found.get(r.Method == http.MethodGet)
	case http.MethodDelete:
		if refused := s.condition(objects[key], r); refused != nil && r.Header.Get("If-Match") != "" {
			return refused
		}
		delete(objects, key)
		return func(w http.ResponseWriter) { w.WriteHeader(http.StatusNoContent) }
	}
	return refusal(http.StatusMethodNotAllowed, "MethodNotAllowed")
}

// condition returns the refusal of a conditional write, as AWS words it, or nil.
func (s *Store) condition(stored *object, r *http.Request) reply {
	match, none := r.Header.Get("If-Match"), r.Header.Get("If-None-Match")
	switch {
	case s.IgnoreConditions:
	case match != "" && stored == nil:
		return refusal(http.StatusNotFound, "NoSuchKey")
	case match != "" && strings.Trim(match, `"`) != stored.etag, none == "*" && stored != nil:
		return refusal(http.StatusPreconditionFailed, "PreconditionFailed")
	}
	return nil
}

func digest(body []byte) string {
	sum := md5.Sum(body)
	return hex.EncodeToString(sum[:])
}

func put(objects map[string]*object, key string, body []byte, etag string, header http.Header) reply {
	o := &object{body: body, etag: etag, modified: time.Now(), meta: http.Header{}}
	for name, values := range header {
		if strings.HasPrefix(name, "X-Amz-Meta-") {
			o.meta[name] = values
		}
	}
	objects[key] = o
	return func(w http.ResponseWriter) { w.Header().Set("ETag", `"`+etag+`"`) }
}

func (o *object) get(withBody bool) reply {
	body, etag, modified, meta := o.body, o.etag, o.modified, o.meta
	return func(w http.ResponseWriter) {
		for name, values := range meta {
			w.Header()[name] = values
		}
		w.Header().Set("ETag", `"`+etag+`"`)
		w.Header().Set("Last-Modified", modified.UTC().Format(http.TimeFormat))
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		if withBody {
			_, _ = w.Write(body)
		}
	}
}

func (s *Store) multipart(objects map[string]*object, key string, r *http.Request, body []byte) reply {
	id := r.URL.Query().Get("uploadId")
	parts, ok := s.uploads[id]
	if !ok {
		return refusal(http.StatusNotFound, "NoSuchUpload")
	}
	switch r.Method {
	case http.MethodPut:
		n, err := strconv.Atoi(r.URL.Query().Get("partNumber"))
		if err != nil {
			return refusal(http.StatusBadRequest, "InvalidArgument")
		}
		parts[n] = body
		return func(w http.ResponseWriter) { w.Header().Set("ETag", `"`+digest(body)+`"`) }
	case http.MethodDelete:
		delete(s.uploads, id)
		return func(w http.ResponseWriter) { w.WriteHeader(http.StatusNoContent) }
	}
	if refused := s.condition(objects[key], r); refused != nil {
		return refused
	}
	var all bytes.Buffer
	var sums []byte
	for n := range len(parts) {
		sum := md5.Sum(parts[n+1])
		sums = append(sums, sum[:]...)
		all.Write(parts[n+1])
	}
	etag := fmt.Sprintf("%s-%d", digest(sums), len(parts))
	delete(s.uploads, id)
	put(objects, key, all.Bytes(), etag, nil)
	return document(struct {
		XMLName   xml.Name `xml:"CompleteMultipartUploadResult"`
		Key, ETag string
	}{Key: key, ETag: `"` + etag + `"`})
}

func (s *Store) list(bucket string, r *http.Request) reply {
	query := r.URL.Query()
	limit := 1000
	if n, err := strconv.Atoi(query.Get("max-keys")); err == nil {
		limit = n
	}
	after := max(query.Get("start-after"), query.Get("continuation-token"))
	type content struct {
		Key, LastModified, ETag string
		Size                    int
	}
	result := struct {
		XMLName               xml.Name `xml:"ListBucketResult"`
		Name, Prefix          string
		KeyCount, MaxKeys     int
		IsTruncated           bool
		NextContinuationToken string `xml:",omitempty"`
		Contents              []content
	}{Name: bucket, Prefix: query.Get("prefix"), MaxKeys: limit}
	for _, key := range s.sorted(bucket) {
		if !strings.HasPrefix(key, result.Prefix) || key <= after && after != "" {
			continue
		}
		if len(result.Contents) == limit {
			result.IsTruncated = true
			result.NextContinuationToken = result.Contents[limit-1].Key
			break
		}
		o := s.buckets[bucket][key]
		result.Contents = append(result.Contents, content{key, o.modified.UTC().Format(time.RFC3339Nano), `"` + o.etag + `"`, len(o.body)})
	}
	result.KeyCount = len(result.Contents)
	return document(result)
}

// readBody reads a body, also one that is sent in signed chunks.
func readBody(r *http.Request) ([]byte, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil || !strings.HasPrefix(r.Header.Get("X-Amz-Content-Sha256"), "STREAMING-") {
		return body, err
	}
	var plain []byte
	for {
		line, rest, ok := bytes.Cut(body, []byte("\r\n"))
		size, _, _ := strings.Cut(string(line), ";")
		n, err := strconv.ParseInt(size, 16, 64)
		if !ok || err != nil || n > int64(len(rest)) {
			return nil, fmt.Errorf("a bad chunk: %q", line)
		}
		if n == 0 {
			return plain, nil
		}
		plain = append(plain, rest[:n]...)
		body = bytes.TrimPrefix(rest[n:], []byte("\r\n"))
	}
}
