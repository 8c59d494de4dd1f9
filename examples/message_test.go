package examples

import (
	"context"
	"encoding/json"
	"fmt"
	"log"

	"github.com/fencerow/fencerow"
	"github.com/fencerow/fencerow/fence/memfence"
	"github.com/fencerow/fencerow/lock/memlock"
)

// A token that crosses processes in a message: the consumer reads it with ParseToken and stamps its own steps.
func Example_tokenInAMessage() {
	ctx := context.Background()
	locker, err := fencerow.New(memlock.New(), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer locker.Close()
	lease, err := locker.Acquire(ctx, "report/7")
	if err != nil {
		log.Fatal(err)
	}
	message, err := json.Marshal(map[string]any{"report": 7, "token": lease.Token()})
	if err != nil {
		log.Fatal(err)
	}

	// In the consumer.
	var job struct {
		Report int
		Token  string
	}
	if err := json.Unmarshal(message, &job); err != nil {
		log.Fatal(err)
	}
	token, err := fencerow.ParseToken(job.Token)
	if err != nil {
		log.Fatal(err)
	}
	reports := memfence.New[string](nil)
	stamp := token.Stamp(1) // the message's only operation
	if _, err := reports.Claim(ctx, stamp, "report/7"); err != nil {
		log.Fatal(err)
	}
	err = reports.Write(ctx, stamp, "report/7", func(string) (string, error) { return "done", nil })
	fmt.Println(token, err)

	// Output:
	// report/7#1 <nil>
}
