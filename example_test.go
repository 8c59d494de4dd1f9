package fencerow_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/fencerow/fencerow"
	"github.com/fencerow/fencerow/fence/memfence"
	"github.com/fencerow/fencerow/lock/memlock"
)

// A locker on the lock service in memory, as a unit test would open it.
func openLocker(opts *fencerow.Options) *fencerow.Locker {
	locker, err := fencerow.New(memlock.New(), opts)
	if err != nil {
		log.Fatal(err)
	}
	return locker
}

func ExampleLocker_Do() {
	ctx := context.Background()
	locker := openLocker(nil)
	defer locker.Close()
	balances := memfence.New[int](nil)

	err := locker.Do(ctx, "account/42", func(ctx context.Context, lease *fencerow.Lease) error {
		stamp := lease.Stamp()
		balance, err := balances.Claim(ctx, stamp, "account/42") // before the first read
		if err != nil {
			return err
		}
		return balances.Write(ctx, stamp, "account/42", func(int) (int, error) { return balance + 100, nil })
	})
	balance, token := balances.Load("account/42")
	fmt.Println(err, balance, token)
	// Output: <nil> 100 1
}

// A worker that lost its lease is refused by the resource, whatever it believes itself.
func ExampleStaleError() {
	ctx := context.Background()
	locker := openLocker(&fencerow.Options{TTL: 20 * time.Millisecond, NoRenewal: true})
	defer locker.Close()
	balances := memfence.New[int](nil)
	add := func(lease *fencerow.Lease) error {
		return balances.Write(ctx, lease.Stamp(), "account/42", func(b int) (int, error) { return b + 100, nil })
	}

	old, err := locker.Acquire(ctx, "account/42")
	if err != nil {
		log.Fatal(err)
	}
	if _, err := balances.Claim(ctx, old.Stamp(), "account/42"); err != nil {
		log.Fatal(err)
	}
	<-old.Done() // its lease runs out; a frozen worker would not notice

	current, err := locker.Acquire(ctx, "account/42")
	if err != nil {
		log.Fatal(err)
	}
	if _, err := balances.Claim(ctx, current.Stamp(), "account/42"); err != nil {
		log.Fatal(err)
	}
	var stale *fencerow.StaleError
	if errors.As(add(old), &stale) {
		fmt.Printf("presented %d, stored %d\n", stale.Presented, stale.Stored)
	}
	fmt.Println(add(current))
	// Output:
	// presented 1, stored 2
	// <nil>
}

// The context of the work ends with the lease, and its cause says why.
func ExampleLease_Context() {
	locker := openLocker(&fencerow.Options{TTL: 20 * time.Millisecond, NoRenewal: true})
	defer locker.Close()
	lease, err := locker.Acquire(context.Background(), "report/7")
	if err != nil {
		log.Fatal(err)
	}
	ctx, cancel := lease.Context(context.Background())
	defer cancel()
	<-ctx.Done()
	fmt.Println(errors.Is(context.Cause(ctx), fencerow.ErrLost))
	// Output: true
}

// A token crosses processes as text, in a message or a header.
func ExampleParseToken() {
	locker := openLocker(nil)
	defer locker.Close()
	lease, err := locker.Acquire(context.Background(), "report/7")
	if err != nil {
		log.Fatal(err)
	}
	text, err := lease.Token().MarshalText()
	if err != nil {
		log.Fatal(err)
	}
	token, err := fencerow.ParseToken(string(text)) // in the other process
	fmt.Println(token, token == lease.Token(), err)
	// Output: report/7#1 true <nil>
}
