package dynamofence

import (
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/fencerow/fencerow"
)

// Attributes are the names of the attributes that hold a mark. An empty name means the default.
type Attributes struct {
	Token  string // the number, of type N. Default: fence_token
	Step   string // of the grant's latest write, of type N. Default: fence_step
	Grant  string // the grant's id, of type S. Default: fence_grant
	Source string // the source of the numbers, of type S. Default: fence_source
}

// ItemOptions are options of [Items]. A nil *ItemOptions means the defaults.
type ItemOptions struct {
	// Attributes that hold the mark of an item.
	Attributes Attributes
	// Stepped admits the writes of a grant that has not claimed. Until the newer holder has written, an older one's write is accepted
	// then, even after the newer one has read: use it for writes that do not depend on what was read. Default: a claim is needed.
	Stepped bool
	// Guard keeps the marks of items that are not there. With it a write makes an item that is missing, and [Items.Delete] works.
	// Without it both say what is missing. It must belong to the same account and Region.
	Guard *Guard
	// Resource returns the resource that an item belongs to by its key. A call that names another one is [fencerow.ErrMismatch].
	// Default: what the caller says is believed.
	Resource func(key map[string]types.AttributeValue) (fencerow.Resource, error)
	// Observer is told every answer. Default: nobody.
	Observer *fencerow.Observer
	// MaxJump is the largest step from the stored number to that of a claim, against a poisoned number. A claim above it is
	// [fencerow.ErrImplausible]. The first claim of an item may have any number. Default: 0, any.
	MaxJump int64
	// AllowReplicas accepts a global table with eventual consistency. The fence holds as long as all writes of a resource go to one
	// Region. Default: refuse it.
	AllowReplicas bool
}

// GuardOptions are options of a [Guard]. A nil *GuardOptions means the defaults.
type GuardOptions struct {
	// Attributes that hold the mark in a guard item.
	Attributes Attributes
	// Prefix is the beginning of the partition keys of the guard items, so that they may be in a table with other items. Changing it
	// forgets all marks. Default: "fencerow/".
	Prefix string
	// Observer is told every answer. Default: nobody.
	Observer *fencerow.Observer
	// MaxJump is the largest step from the stored number to that of a claim, against a poisoned number. A claim above it is
	// [fencerow.ErrImplausible]. The first claim of a resource may have any number. Default: 0, any.
	MaxJump int64
	// AllowReplicas accepts a global table with eventual consistency. The fence holds as long as all writes of a resource go to one
	// Region. Default: refuse it.
	AllowReplicas bool
}

func (a Attributes) resolve() (Attributes, error) {
	for _, name := range []struct {
		of  *string
		def string
	}{{&a.Token, "fence_token"}, {&a.Step, "fence_step"}, {&a.Grant, "fence_grant"}, {&a.Source, "fence_source"}} {
		if *name.of == "" {
			*name.of = name.def
		}
	}
	seen := map[string]bool{}
	for _, name := range a.all() {
		if seen[name] {
			return a, fmt.Errorf("the attribute %s is named twice, the parts of a mark need four names", name)
		}
		seen[name] = true
	}
	return a, nil
}

func (a Attributes) all() []string { return []string{a.Token, a.Step, a.Grant, a.Source} }

func (a Attributes) has(name string) bool {
	for _, own := range a.all() {
		if name == own {
			return true
		}
	}
	return false
}

func (o *ItemOptions) resolve() (ItemOptions, error) {
	var opts ItemOptions
	if o != nil {
		opts = *o
	}
	var err error
	opts.Attributes, err = opts.Attributes.resolve()
	return opts, errors.Join(err, checkJump(opts.MaxJump))
}

func (o *GuardOptions) resolve() (GuardOptions, error) {
	var opts GuardOptions
	if o != nil {
		opts = *o
	}
	if opts.Prefix == "" {
		opts.Prefix = "fencerow/"
	}
	var err error
	opts.Attributes, err = opts.Attributes.resolve()
	return opts, errors.Join(err, checkJump(opts.MaxJump))
}

func checkJump(jump int64) error {
	if jump < 0 {
		return fmt.Errorf("MaxJump is %d, it must not be negative", jump)
	}
	return nil
}
