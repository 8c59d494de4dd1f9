package redisserver

import (
	"strings"
	"testing"
)

// Servers that are too old are not at hand, so what they say of themselves is judged alone.
func TestServersThatAreRefused(t *testing.T) {
	for info, want := range map[string]string{
		"redis_version:5.0.14":                            "6.0 or later",
		"redis_version:7.0.15":                            "",
		"redis_version:10.0.0":                            "",
		"maxmemory:0\r\nmaxmemory_policy:allkeys-lru":     "",
		"maxmemory:1000\r\nmaxmemory_policy:allkeys-lru":  "evict the counter",
		"maxmemory:1000\r\nmaxmemory_policy:volatile-lru": "",
		"role:slave\r\nslave_read_only:1":                 "read-only replica",
		"role:slave\r\nslave_read_only:0":                 "",
	} {
		err := Refuse(ParseInfo(info), "the counter")
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", info, err, want)
		}
	}
}
