// Package pgxfence makes PostgreSQL refuse the writes of a superseded lock holder, through pgx: its pool, a connection, a transaction
// and batches. It is package sqlfence without database/sql in between; schemas, options, clauses, keys and errors are that package's.
//
// Programs that reach Postgres through database/sql, with pgx as the driver, use sqlfence itself.
package pgxfence
