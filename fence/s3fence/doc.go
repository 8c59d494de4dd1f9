// Package s3fence is being written.
package s3fence
