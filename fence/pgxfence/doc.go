// Package pgxfence is being written.
package pgxfence
