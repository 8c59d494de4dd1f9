package redislock

import (
	"testing"

	"github.com/fencerow/fencerow/internal/redisserver"
)

func TestFindings(t *testing.T) {
	weak := redisserver.ParseInfo("maxmemory:1000\r\nmaxmemory_policy:volatile-ttl\r\naof_enabled:0\r\nconnected_slaves:2\r\n")
	if found := findings(weak, 0); len(found) != 3 {
		t.Errorf("a weak server has the findings %q", found)
	}
	good := redisserver.ParseInfo("maxmemory:0\r\naof_enabled:1\r\nconnected_slaves:2\r\n")
	if found := findings(good, 1); len(found) != 0 {
		t.Errorf("a good server has the findings %q", found)
	}
}
