package sqlfence

import (
	"database/sql"
	"math"
	"time"

	"github.com/fencerow/fencerow"
	"github.com/fencerow/fencerow/sqlconn"
)

// Options of a fence. A nil *Options means the defaults.
type Options struct {
	// Observer is told every answer of the database. Default: nobody.
	Observer *fencerow.Observer
	// Isolation of the gate's transactions. Above READ COMMITTED a conflict is retried more often. Default: the database's.
	Isolation sql.IsolationLevel
	// ClaimTimeout bounds how long a claim waits for the transactions of older holders, one of which may be frozen. Then the error is
	// a [*BlockedError] that names them. A claim within your own transaction is bounded by its context only, and on SQLite the busy
	// timeout of the connection must end before a wait can. Default: 10 s.
	ClaimTimeout time.Duration
	// EndBlockers ends the sessions that block a claim for three quarters of ClaimTimeout: pg_terminate_backend or KILL. Their
	// transactions are rolled back. It needs the right to do so, and behind a pooler it may hit the work of somebody else who holds
	// the same session. Default: off.
	EndBlockers bool
	// TellTriggers has the gate say to the triggers of the protected tables, by settings that end with the transaction, which resource's
	// gate the transaction has passed. Triggers that ask for the gate need it, see [Enforcement]; it makes the first statement of a fenced
	// transaction a little slower. Postgres only. Default: off.
	TellTriggers bool
	// MaxJump is the largest step from the stored number to that of a claim, against a poisoned number, such as a timestamp, that
	// would make every later grant stale. A claim above it is [fencerow.ErrImplausible]. The first claim of a resource may have any
	// number. Choose it far above what your lock service can do between two claims: numbers of etcd and ZooKeeper grow with every
	// write to the service, and those of Redis jump by 2^20 at a fail-over. Default: 0, any.
	MaxJump int64
}

const defaultClaimTimeout = 10 * time.Second

func (o *Options) resolve() Options {
	var opts Options
	if o != nil {
		opts = *o
	}
	if opts.ClaimTimeout <= 0 {
		opts.ClaimTimeout = defaultClaimTimeout
	}
	return opts
}

// jump is the argument of the statements: what no jump exceeds if any is allowed.
func (o Options) jump() int64 {
	if o.MaxJump > 0 {
		return o.MaxJump
	}
	return math.MaxInt64
}

func (o Options) claiming(db sqlconn.DB, d Dialect) claiming {
	return claiming{db: db, dialect: d, timeout: o.ClaimTimeout, end: o.EndBlockers}
}
