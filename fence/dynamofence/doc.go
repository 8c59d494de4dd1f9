// Package dynamofence is being written.
package dynamofence
