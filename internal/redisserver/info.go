package redisserver

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

const oldest = 6 // major version: the first with all that the scripts use

// ParseInfo reads what INFO answers.
func ParseInfo(text string) map[string]string {
	info := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			info[name] = value
		}
	}
	return info
}

// Refuse returns why a server cannot be used, or nil. Evicts is what an eviction would take away, and what follows.
func Refuse(info map[string]string, evicts string) error {
	version := info["redis_version"]
	major, _, _ := strings.Cut(version, ".")
	if n, err := strconv.Atoi(major); err == nil && n < oldest {
		return fmt.Errorf("the server is Redis %s, %d.0 or later is needed: upgrade it", version, oldest)
	}
	if policy := info["maxmemory_policy"]; Limited(info) && strings.HasPrefix(policy, "allkeys-") {
		return fmt.Errorf("maxmemory-policy is %s: the server may evict %s; set it to noeviction, or use a server of its own", policy, evicts)
	}
	if info["role"] == "slave" && info["slave_read_only"] != "0" {
		return errors.New("the server is a read-only replica: connect to the master, for example through Sentinel")
	}
	return nil
}

// Limited reports whether the memory of the server has a limit.
func Limited(info map[string]string) bool { return info["maxmemory"] != "" && info["maxmemory"] != "0" }
