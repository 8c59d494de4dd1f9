package sqlfence

import (
	"database/sql"

	"github.com/fencerow/fencerow"
)

// Options of a fence. A nil *Options means the defaults.
type Options struct {
	// Observer is told every answer of the database. Default: nobody.
	Observer *fencerow.Observer
	// Isolation of the gate's transactions. Above READ COMMITTED a conflict is retried more often. Default: the database's.
	Isolation sql.IsolationLevel
}

func (o *Options) resolve() Options {
	if o == nil {
		return Options{}
	}
	return *o
}
