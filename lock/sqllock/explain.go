package sqllock

import (
	"fmt"

	"github.com/fencerow/fencerow/internal/sqlerr"
)

// remedies are for errors whose own text has none.
var remedies = map[sqlerr.Reason]string{
	sqlerr.NotWritable:    "the database accepts no writes; locks need a writable one: connect to the primary",
	sqlerr.NoPermission:   "the user may not do that; grant it SELECT, INSERT and UPDATE on fencerow_lock and fencerow_source, and create them with Dialect.Schema",
	sqlerr.NoSpace:        "the database has no space left; free some, nothing was granted",
	sqlerr.BadCredentials: "the database does not accept the user and password of the connection",
	sqlerr.NoDatabase:     "there is no such database; create it or correct the name",
	sqlerr.Unreachable:    "no database answers at the address; check host and port, and that the server runs",
	sqlerr.BadTLS:         "client and server do not agree on TLS; change the TLS setting of the connection, or of the server",
}

func explain(err error) error {
	if remedy, ok := remedies[sqlerr.ReasonOf(err)]; ok {
		return fmt.Errorf("%s: %w", remedy, err)
	}
	return err
}
