package sqlfence

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/fencerow/fencerow"
	"github.com/fencerow/fencerow/fence"
)

// DefaultToken is the name of the token column unless the schema says otherwise.
const DefaultToken = "fence_token"

// Schema says how a table is fenced. Names are taken literally, with their case.
type Schema struct {
	// Name of the table, "accounts" or "bank.accounts".
	Name string
	// Class of the resources that protect the rows: with the class "account" the row of key 42 is protected by the resource
	// account/42, and the stamp of any other resource is refused.
	Class string
	// Key are the columns that tell the rows apart, usually the primary key.
	Key []string
	// Token is the column of the number, a 64-bit integer. Default: [DefaultToken].
	Token string
	// Step is the column of the step, a 64-bit integer. Without it a grant writes each row once. Default: none.
	Step string
	// Grant is the column of the grant id, a text; it needs Step. With it a grant claims a row before it writes it. Default:
	// none.
	Grant string
	// NotOlder lets a grant write a row any number of times without a step column. A write that is sent twice, by you or by
	// the driver, is then applied twice: use it only for writes that do not depend on what is stored. Default: off.
	NotOlder bool
	// Tombstones keeps the mark of a deleted row in the table fencerow_gate, under the name of the resource that protects it, for
	// [Table.Delete] and [Table.Put]. [OpenTable] creates that table if it is not there. Default: off; then rows are neither inserted
	// nor deleted through the fence.
	Tombstones bool
}

// rule is the rule of admission that the columns allow.
func (s Schema) rule() fence.Rule {
	switch {
	case s.Grant != "":
		return fence.Claimed
	case s.Step != "":
		return fence.Stepped
	case s.NotOlder:
		return fence.NotOlder
	}
	return fence.Strict
}

// resolve fills in the defaults and refuses what cannot work.
func (s Schema) resolve() (Schema, error) {
	if s.Token == "" {
		s.Token = DefaultToken
	}
	var errs []error
	if s.Name == "" || slices.Contains(s.path(), "") {
		errs = append(errs, fmt.Errorf("the table name %q is not a name or schema.name", s.Name))
	}
	if err := fencerow.Resource(s.Class + "/id").Validate(); err != nil || strings.Contains(s.Class, "/") {
		errs = append(errs, fmt.Errorf("the class of the resources is %q; it must be 1 to 64 of a-z A-Z 0-9 . _ -", s.Class))
	}
	if len(s.Key) == 0 {
		errs = append(errs, errors.New("the key columns are missing"))
	}
	if s.Grant != "" && s.Step == "" {
		errs = append(errs, errors.New("a grant column needs a step column"))
	}
	if s.NotOlder && s.Step != "" {
		errs = append(errs, errors.New("NotOlder has no meaning with a step column, which already allows many writes per grant"))
	}
	seen := map[string]bool{}
	for _, name := range s.columns() {
		if name == "" || strings.ContainsRune(name, 0) {
			errs = append(errs, fmt.Errorf("the column name %q is not a name", name))
		}
		if seen[name] {
			errs = append(errs, fmt.Errorf("the column %q is named twice", name))
		}
		seen[name] = true
	}
	return s, errors.Join(errs...)
}

// path are the parts of the table's name.
func (s Schema) path() []string { return strings.SplitN(s.Name, ".", 2) }

// fence are the columns that the fence writes.
func (s Schema) fence() []string {
	columns := []string{s.Token}
	for _, name := range []string{s.Step, s.Grant} {
		if name != "" {
			columns = append(columns, name)
		}
	}
	return columns
}

func (s Schema) columns() []string { return append(s.fence(), s.Key...) }
