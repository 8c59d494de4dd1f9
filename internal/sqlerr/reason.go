package sqlerr

import (
	"errors"
	"net"
)

// Reason is why a database refused a statement or a connection, where the remedy is outside of the program.
type Reason int

const (
	Other       Reason = iota
	NotWritable        // the database, or this connection to it, accepts no writes
	NoPermission
	NoSpace
	BadCredentials
	NoDatabase
	Unreachable
	BadTLS
)

var (
	stateReasons = map[string]Reason{
		"25006": NotWritable, "42501": NoPermission, "53100": NoSpace,
		"28P01": BadCredentials, "28000": BadCredentials, "3D000": NoDatabase,
	}
	mysqlReasons = map[int]Reason{
		1290: NotWritable, 1792: NotWritable, 1836: NotWritable,
		1142: NoPermission, 1143: NoPermission, 1044: NoPermission, 1227: NoPermission, 1370: NoPermission,
		1021: NoSpace, 1114: NoSpace, 1045: BadCredentials, 1698: BadCredentials, 1049: NoDatabase,
	}
	sqliteReasons = map[int]Reason{8: NotWritable, 3: NoPermission, 23: NoPermission, 14: NoPermission, 13: NoSpace}
)

// ReasonOf returns the reason of err.
func ReasonOf(err error) Reason {
	if state, ok := sqlState(err); ok {
		return stateReasons[state]
	}
	if number, _, ok := mysqlCode(err); ok {
		return mysqlReasons[number]
	}
	if code, ok := sqliteCode(err); ok {
		return sqliteReasons[code&0xff]
	}
	var network *net.OpError
	switch {
	case mentions(err, "refused TLS", "does not support TLS", "SSL is not enabled", "x509:", "tls:", "TLS handshake"):
		return BadTLS
	case mentions(err, "readonly database", "read-only"):
		return NotWritable
	case errors.As(err, &network) && network.Op == "dial", mentions(err, "connection refused", "no such host"):
		return Unreachable
	}
	return Other
}
