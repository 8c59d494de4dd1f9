package redisfence

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/fencerow/fencerow"
	"github.com/fencerow/fencerow/fence"
	"github.com/fencerow/fencerow/internal/redisserver"
	"github.com/fencerow/fencerow/redisconn"
)

// Overridden is one override, as Redis has recorded it. Number is that which was set; the marks before it are those of the earlier ones.
type Overridden struct {
	fence.Override
	At time.Time // by the clock of the one who did it
}

// Override sets the mark of a resource by hand, in one step with a record of who did so and why. From then on only numbers above it are
// admitted. See [fence.Override] for when to do that.
func (f *Fence) Override(ctx context.Context, resource fencerow.Resource, o fence.Override) error {
	if err := resource.Validate(); err != nil {
		return err
	}
	if err := o.Check(); err != nil {
		return err
	}
	record, err := json.Marshal(storedOverride{Number: strconv.FormatInt(o.Number, 10), Source: o.Source, By: o.By, Why: o.Why, At: time.Now().UTC()})
	if err != nil {
		return err
	}
	answers, err := overrideScript.Run(ctx, f.conn, []string{f.markKey(resource), f.overridesKey(resource)},
		[]string{o.Source, strconv.FormatInt(o.Number, 10), fence.OverrideGrant, "0", string(record)})
	if err != nil {
		return fmt.Errorf("redisfence: override the mark of %s: if no answer came it may be set, look with Mark: %w", resource, redisserver.Explain(err))
	}
	a, err := parse(answers[0].Value)
	if err == nil && a.what == "refused" {
		err = fmt.Errorf("fence: override: the mark of %s has no source yet, say which it is to follow", resource)
	}
	return err
}

// storedOverride is a record. Numbers are text, because readers of JSON round those above 2^53.
type storedOverride struct {
	Number, Source, By, Why string
	At                      time.Time
}

func (f *Fence) overridesKey(resource fencerow.Resource) string {
	return f.tag(resource) + ":overrides"
}

// Overrides returns the overrides of a resource, the oldest first.
func (f *Fence) Overrides(ctx context.Context, resource fencerow.Resource) ([]Overridden, error) {
	key := f.overridesKey(resource)
	replies, err := f.conn.Do(ctx, key, redisconn.Command{"LRANGE", key, "0", "-1"})
	if err == nil {
		err = replies[0].Err
	}
	var texts []string
	if err == nil {
		texts, err = redisserver.Texts(replies[0].Value)
	}
	if err != nil {
		return nil, fmt.Errorf("redisfence: list the overrides of %s: %w", resource, redisserver.Explain(err))
	}
	found := make([]Overridden, 0, len(texts))
	for _, text := range texts {
		var s storedOverride
		if err := json.Unmarshal([]byte(text), &s); err != nil {
			return nil, fmt.Errorf("redisfence: an override of %s reads %q: %w", resource, text, err)
		}
		number, err := strconv.ParseInt(s.Number, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("redisfence: an override of %s reads %q: %w", resource, text, err)
		}
		found = append(found, Overridden{Override: fence.Override{Number: number, Source: s.Source, By: s.By, Why: s.Why}, At: s.At})
	}
	return found, nil
}
