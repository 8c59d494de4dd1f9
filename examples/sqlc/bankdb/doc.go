// Package bankdb is what sqlc makes of schema.sql and queries.sql, for an example.
package bankdb
