package redislock

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
		err := refuse(parseInfo(info))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", info, err, want)
		}
	}
}

func TestFindings(t *testing.T) {
	weak := parseInfo("maxmemory:1000\r\nmaxmemory_policy:volatile-ttl\r\naof_enabled:0\r\nconnected_slaves:2\r\n")
	if found := findings(weak, 0); len(found) != 3 {
		t.Errorf("a weak server has the findings %q", found)
	}
	good := parseInfo("maxmemory:0\r\naof_enabled:1\r\nconnected_slaves:2\r\n")
	if found := findings(good, 1); len(found) != 0 {
		t.Errorf("a good server has the findings %q", found)
	}
}
