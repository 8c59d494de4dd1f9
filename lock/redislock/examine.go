package redislock

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/fencerow/fencerow/redisconn"
)

const oldest = 6 // major version: the first with all that the scripts use

// Findings returns what of the server, as it was at Open, makes it more likely that grants are forgotten or end early, one sentence
// each with its remedy. In a cluster it is about one of the servers.
func (s *Service) Findings() []string { return s.findings }

// examine refuses a server that cannot keep even the weak promises and notes what weakens them further.
func (s *Service) examine(ctx context.Context) (cluster bool, err error) {
	key := "{" + s.opts.Namespace + "}:source"
	replies, err := s.conn.Do(ctx, key, redisconn.Command{"INFO"})
	if err == nil {
		err = replies[0].Err
	}
	if err != nil {
		return false, err
	}
	text, _ := replies[0].Value.(string)
	info := parseInfo(text)
	if err := refuse(info); err != nil {
		return false, err
	}
	s.findings = findings(info, s.opts.Replicas)
	return info["cluster_enabled"] == "1", nil
}

func parseInfo(text string) map[string]string {
	info := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			info[name] = value
		}
	}
	return info
}

func refuse(info map[string]string) error {
	version := info["redis_version"]
	major, _, _ := strings.Cut(version, ".")
	if n, err := strconv.Atoi(major); err == nil && n < oldest {
		return fmt.Errorf("the server is Redis %s, %d.0 or later is needed: upgrade it", version, oldest)
	}
	if policy := info["maxmemory_policy"]; limited(info) && strings.HasPrefix(policy, "allkeys-") {
		return fmt.Errorf("maxmemory-policy is %s: the server may evict the counter, and numbers would start again; "+
			"set it to noeviction, or use a server of its own for locks", policy)
	}
	if info["role"] == "slave" && info["slave_read_only"] != "0" {
		return errors.New("the server is a read-only replica: connect to the master, for example through Sentinel")
	}
	return nil
}

func limited(info map[string]string) bool { return info["maxmemory"] != "" && info["maxmemory"] != "0" }

func findings(info map[string]string, replicas int) []string {
	var found []string
	if policy := info["maxmemory_policy"]; limited(info) && strings.HasPrefix(policy, "volatile-") {
		found = append(found, fmt.Sprintf("maxmemory-policy is %s: under memory pressure leases end early; set it to noeviction", policy))
	}
	if info["aof_enabled"] == "0" {
		found = append(found, "appendonly is off: a crash or restart forgets the latest grants; set appendonly yes and appendfsync always")
	}
	if n, err := strconv.Atoi(info["connected_slaves"]); err == nil && n > 0 && replicas == 0 {
		found = append(found, fmt.Sprintf("there are %d replicas and a grant does not wait for them: a fail-over forgets the latest grants; set Options.Replicas", n))
	}
	return found
}
