package s3fence

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// ErrUnsafeStore means that a store does not keep what the fence relies on. Do not use it with [Store]; [Keyed] needs less.
var ErrUnsafeStore = errors.New("s3fence: the store does not keep its conditions")

// check asks a store the questions that one client can ask.
func check(ctx context.Context, client Client, bucket, prefix string) error {
	p := prober{client: client, bucket: bucket, key: prefix + "probe/" + rand.Text()}
	defer p.cleanUp(ctx)
	return p.questions(ctx)
}

// Probe finds out whether a store keeps its conditions when many writers meet: rounds in which they create the same object, and rounds in
// which they replace the same version. Give it several clients to reach a store by several endpoints. One round takes as many requests as
// there are writers. It cleans up after itself, and returns [ErrUnsafeStore], which says what went wrong, or a failure of the store.
func Probe(ctx context.Context, bucket, prefix string, rounds, writers int, clients ...Client) error {
	if rounds < 1 || writers < 2 || len(clients) == 0 {
		return errors.New("s3fence: probe: it takes at least one round, two writers and one client")
	}
	p := prober{client: clients[0], bucket: bucket, key: folder(prefix) + "probe/" + rand.Text()}
	defer p.cleanUp(ctx)
	if err := p.questions(ctx); err != nil {
		return err
	}
	for round := range rounds {
		p := prober{client: p.client, bucket: bucket, key: fmt.Sprintf("%s-%d", p.key, round)}
		defer p.cleanUp(ctx)
		if err := p.race(ctx, writers, clients, "create", func(in *s3.PutObjectInput) { in.IfNoneMatch = aws.String("*") }); err != nil {
			return err
		}
		_, etag, err := p.get(ctx)
		if err != nil {
			return err
		}
		if err := p.race(ctx, writers, clients, "replace", func(in *s3.PutObjectInput) { in.IfMatch = &etag }); err != nil {
			return err
		}
	}
	return nil
}

// prober tries out conditions on one object.
type prober struct {
	client Client
	bucket string
	key    string
}

func (p prober) cleanUp(ctx context.Context) {
	_, _ = p.client.DeleteObject(context.WithoutCancel(ctx), &s3.DeleteObjectInput{Bucket: &p.bucket, Key: &p.key})
}

// put writes a body, if the condition holds; lost says that the store refused it.
func (p prober) put(ctx context.Context, client Client, body string, condition func(*s3.PutObjectInput)) (etag string, lost bool, err error) {
	in := &s3.PutObjectInput{Bucket: &p.bucket, Key: &p.key, Body: bytes.NewReader([]byte(body))}
	condition(in)
	out, err := client.PutObject(ctx, in, once)
	switch {
	case err == nil:
		return aws.ToString(out.ETag), false, nil
	case lostRace(err):
		return "", true, nil
	}
	return "", false, explain("probe the store", err)
}

func (p prober) get(ctx context.Context) (body, etag string, err error) {
	out, err := p.client.GetObject(ctx, &s3.GetObjectInput{Bucket: &p.bucket, Key: &p.key})
	if err != nil {
		return "", "", explain("probe the store", err)
	}
	defer out.Body.Close()
	all, err := io.ReadAll(out.Body)
	return string(all), aws.ToString(out.ETag), err
}

// questions are those that need no race.
func (p prober) questions(ctx context.Context) error {
	absent := func(in *s3.PutObjectInput) { in.IfNoneMatch = aws.String("*") }
	matches := func(etag string) func(*s3.PutObjectInput) { return func(in *s3.PutObjectInput) { in.IfMatch = &etag } }
	var first, second string
	for _, q := range []struct {
		condition func() func(*s3.PutObjectInput)
		body      string
		etag      *string
		lose      bool
		otherwise string
	}{
		{func() func(*s3.PutObjectInput) { return matches(`"00000000000000000000000000000000"`) }, "0", new(string), true, "a PUT with If-Match on an object that is not there is accepted"},
		{func() func(*s3.PutObjectInput) { return absent }, "1", &first, false, "a PUT with If-None-Match: * on an object that is not there is refused"},
		{func() func(*s3.PutObjectInput) { return absent }, "2", new(string), true, "a PUT with If-None-Match: * on an object that is there is accepted"},
		{func() func(*s3.PutObjectInput) { return matches(first) }, "3", &second, false, "a PUT with If-Match and the current ETag is refused"},
		{func() func(*s3.PutObjectInput) { return matches(first) }, "4", new(string), true, "a PUT with If-Match and an old ETag is accepted"},
	} {
		etag, lost, err := p.put(ctx, p.client, q.body, q.condition())
		if err != nil {
			return err
		}
		if lost != q.lose {
			return fmt.Errorf("%w: %s", ErrUnsafeStore, q.otherwise)
		}
		*q.etag = etag
	}
	body, etag, err := p.get(ctx)
	switch {
	case err != nil:
		return err
	case body != "3" || etag != second || first == second:
		return fmt.Errorf("%w: after the accepted writes it holds %q under %s, not %q under %s", ErrUnsafeStore, body, etag, "3", second)
	}
	return nil
}

// race lets writers meet. Exactly one must win, and its bytes must be there.
func (p prober) race(ctx context.Context, writers int, clients []Client, what string, condition func(*s3.PutObjectInput)) error {
	type outcome struct {
		body string
		lost bool
		err  error
	}
	outcomes := make(chan outcome, writers)
	start := make(chan struct{})
	var wg sync.WaitGroup
	for i := range writers {
		wg.Go(func() {
			<-start
			body := fmt.Sprintf("%s by writer %d", what, i)
			_, lost, err := p.put(ctx, clients[i%len(clients)], body, condition)
			outcomes <- outcome{body, lost, err}
		})
	}
	close(start)
	wg.Wait()
	close(outcomes)
	var winners []string
	for o := range outcomes {
		switch {
		case o.err != nil:
			return o.err
		case !o.lost:
			winners = append(winners, o.body)
		}
	}
	if len(winners) != 1 {
		return fmt.Errorf("%w: of %d writers that %s the same object at once %d were told that they have won", ErrUnsafeStore, writers, what, len(winners))
	}
	body, _, err := p.get(ctx)
	if err == nil && body != winners[0] {
		err = fmt.Errorf("%w: %q has won and %q is stored", ErrUnsafeStore, winners[0], body)
	}
	return err
}
